// What the Python faces of this room share.
#pragma once

#include <nanobind/nanobind.h>

namespace gnomon::account {

void bind_recorder(nanobind::module_& m);  // bind_account calls it

}  // namespace gnomon::account
