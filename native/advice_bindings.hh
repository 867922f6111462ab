#pragma once

#include <nanobind/nanobind.h>

void bind_advice(nanobind::module_& m);
