// Written against the bare C interface of Python: a general binding costs twice as much,
// and a switched-off region must not be felt.
#include "regions/no_region.hh"

namespace gnomon {

namespace {

PyObject* the_region = nullptr;

PyObject* enter(PyObject*, PyObject*) { return Py_NewRef(the_region); }

PyObject* leave(PyObject*, PyObject* const*, Py_ssize_t) { Py_RETURN_NONE; }

PyObject* no_region(PyObject*, PyObject*) { return Py_NewRef(the_region); }

// As a decorator it gives back the function itself.
PyObject* decorate(PyObject*, PyObject* arguments, PyObject*) {
    PyObject* function = nullptr;
    if (!PyArg_UnpackTuple(arguments, "no_region", 1, 1, &function)) return nullptr;
    return Py_NewRef(function);
}

PyMethodDef enter_function = {"__enter__", enter, METH_NOARGS, nullptr};
PyMethodDef leave_function = {
    "__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL,
    nullptr};
PyMethodDef name_function = {"no_region", no_region, METH_O,
                             "Return a region that does nothing, whatever its name."};

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(decorate)},
    {Py_tp_doc, const_cast<char*>("A region that does nothing.")},
    {0, nullptr},
};

PyType_Spec specification = {"gnomon._native.NoRegion", sizeof(PyObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// Puts a function into a type as it is. Being no descriptor it is not bound to the object
// when a `with` looks it up, which saves making a bound method each time.
bool add_unbound(PyObject* type, PyMethodDef* definition) {
    PyObject* function = PyCFunction_New(definition, nullptr);
    if (!function) return false;
    const bool added = PyObject_SetAttrString(type, definition->ml_name, function) == 0;
    Py_DECREF(function);
    return added;
}

}  // namespace

bool add_no_region(PyObject* module) {
    PyObject* type = PyType_FromSpec(&specification);
    if (!type) return false;
    auto* kind = reinterpret_cast<PyTypeObject*>(type);
    const bool ready = add_unbound(type, &enter_function) && add_unbound(type, &leave_function);
    the_region = ready ? PyType_GenericAlloc(kind, 0) : nullptr;
    Py_DECREF(type);
    if (!the_region) return false;
    PyObject* callable = PyCFunction_New(&name_function, nullptr);
    return callable && PyModule_AddObject(module, "no_region", callable) == 0;
}

}  // namespace gnomon
