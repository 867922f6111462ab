// The Python face of reading other processes: waiting threads, and frames of Python.
#include <algorithm>
#include <cerrno>
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frames/bindings.hh"
#include "frames/python_reader.hh"
#include "python.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;
using namespace gnomon::frames;

namespace {

void check_thread(int tid) {
    if (tid <= 0) raise_os_error(EINVAL, "a thread has a positive number");
}

nb::list steps_of(const Walk& walk) {
    nb::list steps;
    for (const Step& step : walk.steps)
        steps.append(nb::make_tuple(step.pc, step.sp, static_cast<int>(step.quality), step.frame));
    return steps;
}

nb::object frames_of(const std::vector<PythonFrame>& frames) {
    nb::list found;
    for (const PythonFrame& each : frames)
        found.append(nb::make_tuple(each.function, each.line, each.entry, each.anchor));
    return found;
}

// A reader with the things that it refers to.
struct OwnedReader {
    std::shared_ptr<Space> space;
    std::shared_ptr<PythonFunctions> functions;
    std::unique_ptr<PythonReader> reader;
};

nb::object wait_object(const Space& space, int tid) {
    check_thread(tid);
    WaitStack wait;
    const WaitRead status = read_wait(space, tid, wait);
    if (status != WaitRead::walked)
        return nb::make_tuple(static_cast<int>(status), -1, nb::list(), nb::list(), 0);
    return nb::make_tuple(static_cast<int>(status), wait.call, nb::cast(wait.arguments),
                          steps_of(wait.walk), static_cast<int>(wait.walk.stop));
}

// The number of a stack with Python frames in their places, and what came of it.
nb::object merged_object(OwnedReader& owned, int tid, const Walk& walk, const StackCopy& stack,
                         bool sampled) {
    std::vector<PythonFrame> frames;
    const PythonRead status = owned.reader->read(tid, frames);
    std::vector<uint32_t> numbers;
    StackTable& table = owned.space->library().stacks();
    const Merged merged =
        merge_python(walk, stack, frames, sampled ? owned.reader.get() : nullptr, table, numbers);
    return nb::make_tuple(table.stack(numbers), static_cast<int>(status), merged.placed,
                          merged.entries);
}

nb::object sample_object(OwnedReader& owned, int tid, const nb::bytes& words,
                         const nb::bytes& stack) {
    check_thread(tid);
    Registers registers;
    if (words.size() != sizeof registers.value)
        raise_os_error(EINVAL, "registers are 17 words of 64 bits");
    std::memcpy(registers.value.data(), words.c_str(), words.size());
    registers.known = (1u << register_count) - 1;
    Walk walk;
    const StackCopy copy{registers.value[stack_register], bytes_of_object(stack)};
    walk_stack(*owned.space, copy, registers, {true, true}, walk);
    return merged_object(owned, tid, walk, copy, true);
}

nb::object waiting_object(OwnedReader& owned, int tid) {
    check_thread(tid);
    WaitStack wait;
    if (read_wait(*owned.space, tid, wait) != WaitRead::walked) return nb::none();
    return merged_object(owned, tid, wait.walk, {wait.sp, Bytes(wait.stack)}, false);
}

}  // namespace

namespace gnomon::frames {

void bind_readers(nb::module_& m) {
    m.def("wait_stack", &wait_object, "space"_a, "tid"_a,
          "(status, call, arguments, steps, stop) of a thread that waits in the kernel.");

    nb::class_<PythonFunctions>(m, "PythonFunctions", "Python functions, each once.")
        .def(nb::init<>())
        .def(
            "function",
            [](const PythonFunctions& table, uint32_t number) {
                if (number >= table.functions().size())
                    throw nb::index_error("no function has this number");
                const auto& function = table.functions()[number];
                return nb::make_tuple(text_object(function.name), text_object(function.file),
                                      function.first_line);
            },
            "number"_a, "(name, file, first line) of a function.")
        .def("__len__", [](const PythonFunctions& table) { return table.functions().size(); });

    nb::class_<OwnedReader>(m, "PythonReader", "Reads the frames of an interpreter of Python.")
        .def(
            "__init__",
            [](OwnedReader* self, std::shared_ptr<Space> space,
               std::shared_ptr<PythonFunctions> functions) {
                std::string why = "the process runs no Python";
                auto reader = PythonReader::find(*space, *functions, why);
                if (!reader) raise_os_error(ENOENT, why.c_str());
                new (self) OwnedReader{std::move(space), std::move(functions), std::move(reader)};
            },
            "space"_a, "functions"_a)
        .def_prop_ro("version", [](const OwnedReader& owned) { return owned.reader->version(); })
        .def_prop_ro("tries", [](const OwnedReader& owned) { return owned.reader->tries(); })
        .def_prop_ro("agreements",
                     [](const OwnedReader& owned) {
                         nb::dict found;
                         for (size_t i = 0; i < register_count; ++i)
                             if (const auto& each = owned.reader->agreements()[i]; each.found)
                                 found[nb::int_(i)] = nb::make_tuple(each.found, each.agreed);
                         return found;
                     })
        .def(
            "read",
            [](OwnedReader& owned, int tid) {
                check_thread(tid);
                std::vector<PythonFrame> frames;
                const PythonRead status = owned.reader->read(tid, frames);
                return nb::make_tuple(static_cast<int>(status), frames_of(frames));
            },
            "tid"_a, "(status, [(function, line, entry, anchor), ...]), leaf first.")
        .def("sample", &sample_object, "tid"_a, "registers"_a, "stack"_a,
             "A sample's stack with Python frames: (stack, status, placed, activations).")
        .def("waiting", &waiting_object, "tid"_a,
             "The same of a waiting thread; None where it does not wait.");
}

}  // namespace gnomon::frames
