// The Python face of messages between processes.
#pragma once

#include <nanobind/nanobind.h>

void bind_notify(nanobind::module_& m);
