// The Python face of the simulated machine.
#pragma once

#include <nanobind/nanobind.h>

void bind_machine(nanobind::module_& m);
