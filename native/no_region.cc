// Written against the bare C interface of Python: a general binding costs twice as much,
// and a switched-off region must not be felt.
#include "no_region.hh"

namespace gnomon {

namespace {

PyObject* enter(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* leave(PyObject*, PyObject* const*, Py_ssize_t) { Py_RETURN_NONE; }

// As a decorator it gives back the function itself.
PyObject* decorate(PyObject*, PyObject* arguments, PyObject*) {
    PyObject* function = nullptr;
    if (!PyArg_UnpackTuple(arguments, "no_region", 1, 1, &function)) return nullptr;
    return Py_NewRef(function);
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_call, reinterpret_cast<void*>(decorate)},
    {Py_tp_doc, const_cast<char*>("A region that does nothing.")},
    {0, nullptr},
};

PyType_Spec specification = {"gnomon._native.NoRegion", sizeof(PyObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyObject* the_region = nullptr;

PyObject* no_region(PyObject*, PyObject*) { return Py_NewRef(the_region); }

PyMethodDef function = {"no_region", no_region, METH_O,
                        "Return a region that does nothing, whatever its name."};

}  // namespace

bool add_no_region(PyObject* module) {
    PyObject* type = PyType_FromSpec(&specification);
    if (!type) return false;
    auto* kind = reinterpret_cast<PyTypeObject*>(type);
    the_region = kind->tp_alloc(kind, 0);
    Py_DECREF(type);
    if (!the_region) return false;
    PyObject* callable = PyCFunction_New(&function, nullptr);
    return callable && PyModule_AddObject(module, "no_region", callable) == 0;
}

}  // namespace gnomon
