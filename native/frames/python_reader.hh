// Frames of Python functions in another process, read from the interpreter's own chain.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frames/python_layout.hh"
#include "frames/remote.hh"

namespace gnomon::frames {

// Functions of all processes, each once.
class PythonFunctions {
  public:
    struct Function {
        std::string name, file;  // as UTF-8
        int32_t first_line = 0;
        bool operator==(const Function&) const = default;
    };
    uint32_t intern(const Function& function);
    const std::vector<Function>& functions() const { return functions_; }

  private:
    std::vector<Function> functions_;
    Numbers numbers_;
};

struct PythonFrame {
    uint32_t function = 0;
    int32_t line = 0;       // -1 where the compiler gave none
    bool entry = false;     // C entered the interpreter here
    uint64_t anchor = 0;    // of an entry: an address in the C frame of the interpreter
};

enum class PythonRead : uint8_t {
    whole,
    outer,   // it changed while it was read: the outer frames, which did not
    none,    // the thread runs no Python
    failed,
};

struct CodePlace {
    uint32_t function = 0;
    int32_t line = 0;
};

class PythonReader {
  public:
    // Null when the process maps no interpreter whose version is known; `why` says what is wrong
    // with one that is there.
    static std::unique_ptr<PythonReader> find(const Space& space, PythonFunctions& functions,
                                              std::string& why);
    uint32_t version() const { return layout_.version; }
    // Leaf first.
    PythonRead read(int tid, std::vector<PythonFrame>& frames);
    // The function whose bytecode an address is in, of those that have been read.
    bool code_at(uint64_t address, CodePlace& place) const;
    // Who called a function when it was last seen; no_id where nobody did.
    uint32_t caller_of(uint32_t function) const;
    uint64_t tries() const { return tries_; }
    // The function that ran at a sample, by the registers of the interpreter's frame. Which register
    // has the next instruction depends on the build: the one that agreed most with `read`, the
    // innermost function of a moment later, is believed.
    // Where no register has it, it has been saved in a slot of that frame: `slots` are its words,
    // of which the last is the one below the caller's.
    bool running(const Registers& registers, Bytes slots, uint32_t read, CodePlace& place);
    struct Agreement {
        uint32_t found = 0, agreed = 0;
    };
    const std::array<Agreement, register_count>& agreements() const { return agreements_; }

  private:
    struct Code {
        uint64_t name_pointer = 0, lines_pointer = 0;  // it is another object when they differ
        uint64_t bytecode = 0, size = 0;
        uint32_t function = 0;
        int32_t first_line = 0;
        std::vector<uint8_t> lines;
        mutable std::unordered_map<int64_t, int32_t> known_lines;
        int32_t line_at(int64_t offset) const;
    };
    struct Raw {
        uint64_t address = 0, code = 0, previous = 0, instruction = 0;
        uint8_t owner = 0;
        bool entry = false;
        bool same_frame(const Raw& other) const {
            return address == other.address && code == other.code && previous == other.previous;
        }
    };
    // Where a thread's frames were last seen.
    struct Window {
        uint64_t cframe = 0, start = 0, size = 0;
    };
    struct Copy {
        uint64_t current = 0;
        Window window;
        std::vector<uint8_t> bytes;
    };

    PythonReader(const Space& space, PythonFunctions& functions)
        : memory_(space.pid()), functions_(functions) {}
    bool find_thread(int tid, uint64_t& thread);
    void list_threads();
    bool place_window(uint64_t thread, Window& window) const;
    bool copy_twice(int tid, uint64_t thread, Window& window, Copy& first, Copy& second);
    bool chain(const Copy& copy, std::vector<Raw>& raw) const;
    PythonRead settle(const std::vector<Raw>& first, const std::vector<Raw>& second, bool complete,
                      std::vector<Raw>& raw) const;
    bool describe(uint64_t thread, const std::vector<Raw>& raw, std::vector<PythonFrame>& frames);
    void check_codes(const std::vector<Raw>& raw);
    const Code* code(uint64_t address);
    bool read_code(uint64_t address, const std::vector<uint8_t>& head, Code& code);
    std::string text(uint64_t address) const;

    RemoteMemory memory_;
    PythonFunctions& functions_;
    PythonLayout layout_;
    uint64_t runtime_ = 0, code_type_ = 0;
    std::unordered_map<int, uint64_t> threads_;
    std::unordered_map<uint64_t, Window> windows_;
    std::unordered_map<uint64_t, Code> codes_;
    std::map<uint64_t, uint64_t> by_bytecode_;  // where bytecode begins: the code object
    std::unordered_map<uint32_t, uint32_t> callers_;
    uint64_t tries_ = 0;
    size_t line_bytes_ = 0;
    bool offer(Agreement& agreement, uint64_t word, uint32_t read, double& best, CodePlace& place);
    std::array<Agreement, register_count> agreements_{};
    std::unordered_map<uint64_t, Agreement> slot_agreements_;  // by distance from the frame's end
};

// Puts Python frames into a native stack, where the interpreter's own frames are: numbers of
// frames, leaf first. Gives how many activations of the interpreter had a place, of how many.
struct Merged {
    size_t placed = 0, entries = 0;
};
Merged merge_python(const Walk& walk, const StackCopy& stack, std::vector<PythonFrame>& python,
                    PythonReader* reader, StackTable& table, std::vector<uint32_t>& numbers);

}  // namespace gnomon::frames
