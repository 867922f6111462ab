// The Python face of names: symbols of files, Go's functions, maps of JITs, demangling.
#include <cerrno>
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "frames/bindings.hh"
#include "frames/symbols.hh"
#include "python.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;
using namespace gnomon::frames;

namespace {

nb::object symbol_object(const Symbol& symbol) {
    if (symbol.name.empty()) return nb::none();
    return nb::make_tuple(text_object(symbol.name), symbol.start, symbol.size);
}

}  // namespace

namespace gnomon::frames {

void bind_names(nb::module_& m) {
    nb::class_<SymbolTable>(m, "SymbolTable", "The functions that a file names.")
        .def(
            "__init__",
            [](SymbolTable* self, const FrameFile& file) { new (self) SymbolTable(file.image); },
            "file"_a)
        .def(
            "find",
            [](const SymbolTable& table, uint64_t address) {
                return symbol_object(table.find(address));
            },
            "address"_a, "(name, start, size) of the function of an address, or None.")
        .def(
            "address",
            [](const SymbolTable& table, const std::string& name) -> nb::object {
                uint64_t address = 0, size = 0;
                if (!table.address_of(name, address, size)) return nb::none();
                return nb::make_tuple(address, size);
            },
            "name"_a, "(address, size) of a symbol of any kind, or None.")
        .def("__len__", &SymbolTable::size);

    nb::class_<GoTable>(m, "GoTable", "The functions of a Go program, stripped or not.")
        .def(
            "__init__", [](GoTable* self, const FrameFile& file) { new (self) GoTable(file.image); },
            "file"_a)
        .def(
            "find",
            [](const GoTable& table, uint64_t address) {
                return symbol_object(table.find(address));
            },
            "address"_a)
        .def("__len__", &GoTable::size);

    nb::class_<PerfMap>(m, "PerfMap", "The functions that a JIT wrote into /tmp/perf-PID.map.")
        .def(
            "__init__",
            [](PerfMap* self, const nb::bytes& text) {
                new (self) PerfMap(std::string_view(text.c_str(), text.size()));
            },
            "text"_a)
        .def(
            "find",
            [](const PerfMap& map, uint64_t address) { return symbol_object(map.find(address)); },
            "address"_a)
        .def("__len__", &PerfMap::size);

    m.def(
        "demangle",
        [](nb::str symbol, size_t longest) {
            if (longest < 16) raise_os_error(EINVAL, "a name needs room for 16 bytes");
            const nb::object bytes = nb::steal(
                PyUnicode_AsEncodedString(symbol.ptr(), "utf-8", "surrogateescape"));
            if (!bytes.is_valid()) throw nb::python_error();
            const Bytes given = bytes_of_object(nb::borrow<nb::bytes>(bytes));
            return text_object(demangle(
                {reinterpret_cast<const char*>(given.data()), given.size()}, longest));
        },
        "symbol"_a, "longest"_a = 1024, "A symbol as C++ or Rust writes it; others as they are.");
}

}  // namespace gnomon::frames
