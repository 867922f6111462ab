#pragma once

#include <nanobind/nanobind.h>

void bind_estimate_mixture(nanobind::module_& m);
