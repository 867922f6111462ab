// What the Python faces of several domains share: errors and conversions.
#pragma once

#include <cstdint>
#include <cstring>
#include <nanobind/nanobind.h>
#include <vector>

namespace gnomon {

[[noreturn]] inline void raise_os_error(int error, const char* what = nullptr) {
    nanobind::object text = nanobind::str(what ? what : std::strerror(error));
    nanobind::object exception =
        nanobind::borrow(PyExc_OSError)(nanobind::int_(error), text);
    PyErr_SetObject(PyExc_OSError, exception.ptr());
    throw nanobind::python_error();
}

inline nanobind::object tuple_of_words(const uint64_t* words, size_t count) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(count));
    if (!tuple) throw nanobind::python_error();
    for (size_t i = 0; i < count; ++i)
        NB_TUPLE_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromUnsignedLongLong(words[i]));
    return nanobind::steal(tuple);
}

}  // namespace gnomon
