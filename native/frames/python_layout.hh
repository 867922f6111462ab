// Where each minor version of CPython keeps what a reader of its frames needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gnomon::frames {

constexpr size_t debug_words = 128;  // of _Py_DebugOffsets, the longest known has 111

// Offsets in bytes.
struct PythonLayout {
    uint32_t version = 0;         // as Py_Version: 0x030b02f0 is 3.11.2
    bool free_threaded = false;
    bool by_cframe = false;       // 3.11, 3.12: thread -> cframe -> current frame
    uint64_t interpreters = 0;    // in the runtime: the first interpreter
    uint64_t next_interpreter = 0, first_thread = 0;  // in an interpreter
    uint64_t next_thread = 0, native_id = 0;          // in a thread
    uint64_t current = 0;         // in a thread: the current frame, or the cframe
    uint64_t cframe_current = 0, cframe_previous = 16;
    uint64_t previous = 0, code = 0, instruction = 0, owner = 0;  // in a frame
    uint64_t is_entry = 0;        // 3.11: a byte, set where C entered the interpreter
    uint64_t file = 0, name = 0, lines = 0, first_line = 0, bytecode = 0;  // in a code object
    uint64_t bytes_size = 16, bytes_data = 32;
    uint64_t text_state = 0, text_length = 0, ascii_text = 0;

    unsigned minor() const { return version >> 16 & 0xff; }
    // Bytes of a frame that have to be read.
    uint64_t frame_size() const;
    // Bytes of a code object that have to be read.
    uint64_t code_size() const;
};

// Of 3.13 and later, which tell their own offsets; of 3.11 and 3.12, which do not.
std::optional<PythonLayout> told_layout(std::span<const uint64_t, debug_words> words);
std::optional<PythonLayout> known_layout(uint32_t version);

}  // namespace gnomon::frames
