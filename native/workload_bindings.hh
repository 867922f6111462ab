// The Python face of the workload generators.
#pragma once

#include <nanobind/nanobind.h>

void bind_workloads(nanobind::module_& m);
