// The Python face of the Kalman filters.
#pragma once

#include <nanobind/nanobind.h>

void bind_kalman(nanobind::module_& m);
// Those that learn their parameters; bind_kalman calls it.
void bind_learning_kalman(nanobind::module_& m);
