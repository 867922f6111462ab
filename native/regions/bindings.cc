// The Python face of the regions of a program.
#include "bindings.hh"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>

#include "regions/no_region.hh"
#include "regions/regions.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;

namespace {

[[noreturn]] void raise_state_error(const std::string& text) {
    nb::object kind = nb::module_::import_("gnomon.errors").attr("StateError");
    PyErr_SetString(kind.ptr(), text.c_str());
    throw nb::python_error();
}

}  // namespace

void bind_regions(nb::module_& m) {
    nb::class_<Region>(m, "Region", "A named part of a program, counted while it is open.")
        .def(nb::init<const std::string&>(), "name"_a)
        .def("__enter__",
             [](nb::handle self) {
                 nb::inst_ptr<Region>(self)->begin();
                 return nb::borrow(self);
             })
        .def("__exit__",
             [](Region& region, nb::handle, nb::handle, nb::handle) {
                 if (!region.end()) {
                     region.abandon();
                     raise_state_error("region '" + region.name() +
                                       "' is not the innermost open one of this thread: "
                                       "regions must be nested.");
                 }
             },
             "kind"_a.none(), "error"_a.none(), "trace"_a.none())
        .def("__call__",
             [](nb::handle self, nb::handle function) {
                 return nb::module_::import_("gnomon.instrument.regions")
                     .attr("decorated")(self, function);
             })
        .def("begin", &Region::begin)
        .def("end", &Region::end)
        .def_prop_ro("name", &Region::name);
    if (!add_no_region(m.ptr())) throw nb::python_error();
    m.def("configure_regions", &configure_regions, "specs"_a, "names"_a, "folder"_a);
    m.def("region_bytes", [] {
        const std::string bytes = region_bytes();
        return nb::bytes(bytes.data(), bytes.size());
    });
}
