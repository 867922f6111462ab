// The Python face of programs that are started, and of the memory that they take.
#include "bindings.hh"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "program/child.hh"
#include "program/footprint.hh"
#include "python.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;

namespace {

std::vector<std::string> texts_of(const std::vector<nb::bytes>& values) {
    std::vector<std::string> texts;
    for (const nb::bytes& value : values) texts.emplace_back(value.c_str(), value.size());
    return texts;
}

}  // namespace

void bind_program(nb::module_& m) {
    nb::class_<Child>(m, "Child", "A process held before its first instruction.")
        .def(
            "__init__",
            [](Child* self, const std::vector<nb::bytes>& argv,
               const std::vector<nb::bytes>& environment, const nb::bytes& directory,
               int stdout_fd, int stderr_fd, bool same_addresses) {
                new (self) Child(texts_of(argv), texts_of(environment),
                                 std::string(directory.c_str(), directory.size()), stdout_fd,
                                 stderr_fd, same_addresses);
            },
            "argv"_a, "environment"_a, "directory"_a, "stdout"_a = -1, "stderr"_a = -1,
            "same_addresses"_a = false)
        .def(
            "release",
            [](Child& child) {
                if (int error = child.release()) raise_os_error(error);
            },
            "Let it run; raises the OSError with which exec failed.")
        .def("wait", &Child::wait, "timeout_ns"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Wait for its end; False when the time was over first.")
        .def("kill", &Child::kill, "signal"_a)
        .def_prop_ro("pid", &Child::pid)
        .def_prop_ro("ended", &Child::ended)
        .def_prop_ro("status", &Child::status);

    nb::class_<Footprint>(m, "Footprint", "The memory of a process and its children.")
        .def(nb::init<pid_t>(), "pid"_a)
        .def(
            "read",
            [](Footprint& footprint) -> nb::object {
                uint64_t words[Footprint::words];
                if (!footprint.read(words)) return nb::none();
                return tuple_of_words(words, Footprint::words);
            },
            "Return (bytes resident, bytes mapped), or None when all have ended.")
        .def_prop_ro("unreadable", &Footprint::unreadable);
}
