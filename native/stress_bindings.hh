// The Python face of loads and probes of this host's memory.
#pragma once

#include <nanobind/nanobind.h>

void bind_stress(nanobind::module_& m);
