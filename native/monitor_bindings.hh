// The counter array for Python.
#pragma once

#include <nanobind/nanobind.h>

void bind_monitor(nanobind::module_& m);
