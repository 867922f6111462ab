// The Python face of unwinding: files, spaces of processes, and stacks by number.
#include "bindings.hh"

#include <cerrno>
#include <chrono>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frames/bindings.hh"
#include "frames/walk.hh"
#include "python.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon;
using namespace gnomon::frames;

namespace {

// What an unwind table says, in objects: (register, offset) or bytes of an expression.
nb::object expression_of(const Image& image, uint64_t place) {
    Cursor cursor(image.bytes(), place);
    const uint64_t length = cursor.uleb();
    const Bytes bytes = cursor.take(length);
    if (!cursor.ok()) return nb::none();
    return bytes_object(bytes);
}

nb::object row_object(const FrameFile& file, uint64_t address) {
    const auto program = file.frames.find(address);
    if (!program) return nb::none();
    const Row row = row_at(file.image->bytes(), *program, address);
    if (!row.valid) return nb::none();
    nb::object cfa = nb::make_tuple(row.cfa_register, static_cast<int64_t>(row.cfa_value));
    if (row.cfa_register == cfa_by_expression) cfa = expression_of(*file.image, row.cfa_value);
    nb::dict rules;
    static const char* const names[] = {"same",        "offset",       "undefined", "expression",
                                        "val_expression", "val_offset", "register"};
    for (size_t i = 0; i < register_count; ++i) {
        const Rule rule = row.rule[i];
        if (rule == Rule::same) continue;
        nb::object value = nb::int_(static_cast<int64_t>(row.value[i]));
        if (rule == Rule::at_expression || rule == Rule::is_expression)
            value = expression_of(*file.image, row.value[i]);
        rules[nb::int_(i)] = nb::make_tuple(names[static_cast<size_t>(rule)], value);
    }
    return nb::make_tuple(program->start, program->length, row.signal, cfa, rules);
}

Registers registers_of(const nb::bytes& words, uint32_t known) {
    Registers registers;
    if (words.size() != sizeof registers.value)
        raise_os_error(EINVAL, "registers are 17 words of 64 bits");
    std::memcpy(registers.value.data(), words.c_str(), words.size());
    registers.known = known & ((1u << register_count) - 1);
    // Without these there is no place to begin.
    registers.known |= 1u << stack_register | 1u << return_register;
    return registers;
}

StackCopy copy_of(const Registers& registers, const nb::bytes& stack) {
    return {registers.value[stack_register], bytes_of_object(stack)};
}

uint32_t number_of(Library& library, const Walk& walk, std::vector<uint32_t>& numbers) {
    numbers.clear();
    for (const Step& step : walk.steps) numbers.push_back(step.frame);
    return library.stacks().stack(numbers);
}

nb::object unwind(const Space& space, const nb::bytes& words, const nb::bytes& stack,
                  uint32_t known, bool guesses) {
    const Registers registers = registers_of(words, known);
    Walk walk;
    walk_stack(space, copy_of(registers, stack), registers, {guesses, false}, walk);
    std::vector<uint32_t> numbers;
    const uint32_t number = number_of(space.library(), walk, numbers);
    return nb::make_tuple(number, static_cast<int>(walk.stop));
}

nb::object walk_object(const Space& space, const nb::bytes& words, const nb::bytes& stack,
                       uint32_t known, bool guesses) {
    const Registers registers = registers_of(words, known);
    Walk walk;
    walk_stack(space, copy_of(registers, stack), registers, {guesses, false}, walk);
    nb::list steps;
    for (const Step& step : walk.steps)
        steps.append(nb::make_tuple(step.pc, step.sp, static_cast<int>(step.quality), step.frame));
    return nb::make_tuple(steps, static_cast<int>(walk.stop));
}

// Numbers of the stacks of many samples, and the nanoseconds that it took.
nb::object unwind_all(const Space& space, const std::vector<nb::bytes>& words,
                      const std::vector<nb::bytes>& stacks) {
    if (words.size() != stacks.size())
        raise_os_error(EINVAL, "each sample has its registers and its stack");
    std::vector<Registers> registers;
    std::vector<StackCopy> copies;
    for (size_t i = 0; i < words.size(); ++i) {
        registers.push_back(registers_of(words[i], ~0u));
        copies.push_back(copy_of(registers[i], stacks[i]));
    }
    std::vector<uint32_t> found;
    const auto start = std::chrono::steady_clock::now();
    {
        Walk walk;
        std::vector<uint32_t> numbers;
        for (size_t i = 0; i < words.size(); ++i) {
            walk_stack(space, copies[i], registers[i], {}, walk);
            found.push_back(number_of(space.library(), walk, numbers));
        }
    }
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
    return nb::make_tuple(found, took.count());
}

nb::object frame_object(const Library& library, uint32_t number) {
    const auto& frames = library.stacks().frames();
    if (number >= frames.size()) throw nb::index_error("no frame has this number");
    const Frame& frame = frames[number];
    return nb::make_tuple(frame.module, frame.address, static_cast<int>(frame.quality),
                          frame.exact);
}

nb::object object_object(const Library& library, uint32_t number) {
    if (number >= library.objects().size()) throw nb::index_error("no object has this number");
    const Object& object = library.objects()[number];
    const std::string build_id = object.module ? object.module->image().build_id() : "";
    return nb::make_tuple(text_object(object.path), build_id, object.pid);
}

nb::object function_object(const Library& library, uint32_t number, uint64_t address) {
    if (number >= library.objects().size()) throw nb::index_error("no object has this number");
    const auto& module = library.objects()[number].module;
    const uint64_t start = module ? module->function(address) : Module::no_address;
    if (start == Module::no_address) return nb::none();
    return nb::int_(start);
}

std::vector<uint32_t> stack_frames(const Library& library, uint32_t number) {
    if (number >= library.stacks().stacks()) throw nb::index_error("no stack has this number");
    const auto frames = library.stacks().frames_of(number);
    return {frames.begin(), frames.end()};
}

void check_pid(int pid) {
    if (pid <= 0) raise_os_error(EINVAL, "a process has a positive number");
}

// For tests: an expression by itself, with a piece of memory.
class Piece final : public Memory {
  public:
    Piece(uint64_t start, Bytes bytes) : start_(start), bytes_(bytes) {}
    std::optional<uint64_t> word(uint64_t address) const override {
        uint64_t value;
        const Bytes found = part(bytes_, address - start_, sizeof value);
        if (found.empty()) return std::nullopt;
        std::memcpy(&value, found.data(), sizeof value);
        return value;
    }

  private:
    uint64_t start_;
    Bytes bytes_;
};

nb::object evaluate_object(const nb::bytes& expression, const nb::bytes& words, uint32_t known,
                           uint64_t start, const nb::bytes& memory,
                           std::optional<uint64_t> given) {
    Registers registers = registers_of(words, known);
    registers.known = known & ((1u << register_count) - 1);
    const auto value = evaluate(bytes_of_object(expression), 0, registers,
                                Piece(start, bytes_of_object(memory)), given);
    if (!value) return nb::none();
    return nb::int_(*value);
}

void bind_library(nb::module_& m) {
    nb::class_<Library>(m, "FrameLibrary", "Files, frames and stacks of all processes, each once.")
        .def(nb::init<>())
        .def("stack", &stack_frames, "number"_a, "Numbers of a stack's frames, leaf first.")
        .def("frame", &frame_object, "number"_a, "(object, address, quality, exact) of a frame.")
        .def("object", &object_object, "number"_a, "(path, build-id, pid) of an object.")
        .def("function", &function_object, "owner"_a, "address"_a,
             "Where the function of an address begins, by its unwind table.")
        .def(
            "file",
            [](const Library& library, uint32_t number) -> std::shared_ptr<FrameFile> {
                if (number >= library.objects().size())
                    throw nb::index_error("no object has this number");
                const auto& module = library.objects()[number].module;
                return module ? std::make_shared<FrameFile>(module->shared_image()) : nullptr;
            },
            "owner"_a, "The file of an object, if it can be read.")
        .def_prop_ro("stacks", [](const Library& library) { return library.stacks().stacks(); })
        .def_prop_ro("objects", [](const Library& library) { return library.objects().size(); })
        .def_prop_ro("memory", &Library::memory, "Bytes held, mapped files not counted.");
}

void bind_space(nb::module_& m) {
    nb::class_<Space>(m, "FrameSpace", "The code that one process has mapped.")
        .def(
            "__init__",
            [](Space* self, std::shared_ptr<Library> library, int pid) {
                check_pid(pid);
                new (self) Space(std::move(library), pid);
            },
            "library"_a, "pid"_a)
        .def("refresh", &Space::refresh, "Read /proc/PID/maps; False when the process has gone.")
        .def("read", &Space::read, "maps"_a, "Take the text of /proc/PID/maps.")
        .def(
            "map",
            [](Space& space, uint64_t start, uint64_t length, uint64_t offset,
               const std::string& path, uint64_t inode) {
                if (length == 0 || start + length < start)
                    raise_os_error(EINVAL, "a mapping has a length and does not wrap");
                space.map({start, length, offset, inode, path});
            },
            "start"_a, "length"_a, "offset"_a, "path"_a, "inode"_a = 0,
            "Add a mapping of code, as the kernel's record tells it.")
        .def("clear", &Space::clear)
        .def("unwind", &unwind, "registers"_a, "stack"_a, "known"_a = 0x1ffff, "guesses"_a = true,
             "The number of a copied stack, and why the walk ended.")
        .def("walk", &walk_object, "registers"_a, "stack"_a, "known"_a = 0x1ffff,
             "guesses"_a = true, "[(pc, sp, quality, frame), ...] leaf first, and the end.")
        .def("unwind_all", &unwind_all, "registers"_a, "stacks"_a,
             "Numbers of many stacks, and the nanoseconds that this took.")
        .def("__len__", [](const Space& space) { return space.mappings().size(); });
}

}  // namespace

void bind_frames(nb::module_& m) {
    nb::class_<FrameFile>(m, "FrameFile", "An ELF file: unwind tables, symbols, identity.")
        .def(
            "__init__",
            [](FrameFile* self, const std::string& path) {
                auto image = Image::open(path);
                if (!image) raise_os_error(ENOEXEC, "not a 64-bit little-endian ELF file");
                new (self) FrameFile(std::move(image));
            },
            "path"_a)
        .def_static(
            "from_bytes",
            [](const nb::bytes& bytes) {
                const Bytes given = bytes_of_object(bytes);
                auto image = Image::of({given.begin(), given.end()});
                if (!image) raise_os_error(ENOEXEC, "not a 64-bit little-endian ELF file");
                return std::make_shared<FrameFile>(std::move(image));
            },
            "content"_a)
        .def("row", &row_object, "address"_a,
             "(start, length, signal, cfa, rules) of an address, or None.")
        .def("functions", [](const FrameFile& file) { return file.frames.starts(); },
             "Starts of all functions that have an unwind table.")
        .def_prop_ro("build_id", [](const FrameFile& file) { return file.image->build_id(); })
        .def_prop_ro("debug_link", [](const FrameFile& file) {
            const DebugLink& link = file.image->debug_link();
            return nb::make_tuple(text_object(link.name), link.crc);
        });
    m.def("evaluate_expression", &evaluate_object, "expression"_a, "registers"_a, "known"_a,
          "start"_a, "memory"_a, "given"_a = nb::none(),
          "The value of a DWARF expression, its length first, or None.");
    bind_library(m);
    bind_space(m);
    bind_names(m);
    bind_readers(m);
}
