// The Python face of segmented least squares.
#pragma once

#include <nanobind/nanobind.h>

void bind_segments(nanobind::module_& m);
