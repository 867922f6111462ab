// The Python face of the simulator of message programs.
#pragma once

#include <nanobind/nanobind.h>

void bind_messages(nanobind::module_& m);
