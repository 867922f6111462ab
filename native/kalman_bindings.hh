// The Python face of the Kalman filters.
#pragma once

#include <nanobind/nanobind.h>

void bind_kalman(nanobind::module_& m);
