#pragma once

#include <nanobind/nanobind.h>

void bind_trace(nanobind::module_& m);
