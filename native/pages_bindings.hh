#pragma once

#include <nanobind/nanobind.h>

void bind_pages(nanobind::module_& m);
