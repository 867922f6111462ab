// The Python face of feeds: what simulated threads execute.
#pragma once

#include <nanobind/nanobind.h>

void bind_program(nanobind::module_& m);
