#include "frames/python_layout.hh"

#include <algorithm>
#include <cstring>

namespace gnomon::frames {

namespace {

// Positions in _Py_DebugOffsets, in words: they differ by minor version.
struct Positions {
    unsigned minor;
    uint8_t next_thread, current, native_id;
    uint8_t previous, code, instruction, owner;
    uint8_t file, name, lines, first_line, bytecode;
    uint8_t bytes_size, bytes_data, text_state, text_length, ascii_text;
};

constexpr Positions positions[] = {
    {13, 21, 23, 25, 29, 30, 31, 33, 35, 37, 38, 39, 43, 65, 66, 68, 69, 70},
    {14, 24, 26, 28, 32, 33, 34, 36, 40, 42, 43, 44, 48, 75, 76, 78, 79, 80},
    {15, 24, 26, 31, 40, 41, 42, 44, 48, 50, 51, 52, 56, 87, 88, 90, 91, 92},
};

PythonLayout layout_of_3_11() {
    PythonLayout at;
    at.by_cframe = true;
    at.interpreters = 40;
    at.next_interpreter = 0;
    at.first_thread = 16;
    at.next_thread = 8;
    at.current = 56;
    at.cframe_current = 8;
    at.native_id = 160;
    at.previous = 48;
    at.code = 32;
    at.instruction = 56;
    at.owner = 69;
    at.is_entry = 68;
    at.file = 112;
    at.name = 128;
    at.lines = 136;
    at.first_line = 72;
    at.bytecode = 184;
    at.text_length = 16;
    at.text_state = 32;
    at.ascii_text = 48;
    return at;
}

PythonLayout layout_of_3_12() {
    PythonLayout at = layout_of_3_11();
    at.first_thread = 72;
    at.cframe_current = 0;
    at.native_id = 144;
    at.previous = 8;
    at.code = 0;
    at.owner = 70;
    at.is_entry = 0;
    at.first_line = 68;
    at.bytecode = 192;
    at.ascii_text = 40;
    return at;
}

}  // namespace

uint64_t PythonLayout::frame_size() const {
    return std::max({previous, code, instruction, owner, is_entry}) + 8;
}

uint64_t PythonLayout::code_size() const {
    return std::max({file, name, lines, first_line, bytecode, uint64_t{16}}) + 8;
}

std::optional<PythonLayout> known_layout(uint32_t version) {
    std::optional<PythonLayout> found;
    if (version >> 16 == 0x030b) found = layout_of_3_11();
    if (version >> 16 == 0x030c) found = layout_of_3_12();
    if (found) found->version = version;
    return found;
}

std::optional<PythonLayout> told_layout(std::span<const uint64_t, debug_words> words) {
    if (std::memcmp(words.data(), "xdebugpy", 8) != 0) return std::nullopt;
    PythonLayout at;
    at.version = static_cast<uint32_t>(words[1]);
    at.free_threaded = words[2] != 0;
    const auto* found = std::find_if(std::begin(positions), std::end(positions),
                                     [&](const Positions& p) { return p.minor == at.minor(); });
    if (at.version >> 24 != 3 || found == std::end(positions)) return std::nullopt;
    at.interpreters = words[5];
    at.next_interpreter = words[8];
    at.first_thread = words[9];
    const Positions& p = *found;
    at.next_thread = words[p.next_thread];
    at.current = words[p.current];
    at.native_id = words[p.native_id];
    at.previous = words[p.previous];
    at.code = words[p.code];
    at.instruction = words[p.instruction];
    at.owner = words[p.owner];
    at.file = words[p.file];
    at.name = words[p.name];
    at.lines = words[p.lines];
    at.first_line = words[p.first_line];
    at.bytecode = words[p.bytecode];
    at.bytes_size = words[p.bytes_size];
    at.bytes_data = words[p.bytes_data];
    at.text_state = words[p.text_state];
    at.text_length = words[p.text_length];
    at.ascii_text = words[p.ascii_text];
    // A process can write what it likes here.
    constexpr uint64_t most = 1 << 20, largest_object = 512;
    for (const uint64_t offset : {at.interpreters, at.next_interpreter, at.first_thread,
                                  at.next_thread, at.current, at.native_id})
        if (offset > most) return std::nullopt;
    for (const uint64_t offset : {at.previous, at.code, at.instruction, at.owner, at.file, at.name,
                                  at.lines, at.first_line, at.bytecode, at.bytes_size,
                                  at.bytes_data, at.text_state, at.text_length, at.ascii_text})
        if (offset > largest_object) return std::nullopt;
    return at;
}

}  // namespace gnomon::frames
