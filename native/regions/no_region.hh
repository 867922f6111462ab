// What a region is when regions are switched off: nothing, as cheaply as Python allows.
#pragma once

#include <Python.h>

namespace gnomon {

// Adds the function `no_region` to a module; false with a Python error set on failure.
bool add_no_region(PyObject* module);

}  // namespace gnomon
