// Memory of another process, read without stopping it, and the stacks of its waiting threads.
#pragma once

#include <cstdint>
#include <string>
#include <sys/uio.h>
#include <vector>

#include "frames/walk.hh"

namespace gnomon::frames {

struct RemotePart {
    uint64_t address;
    void* to;
    size_t size;
};

class RemoteMemory {
  public:
    explicit RemoteMemory(int pid) : pid_(pid) {}
    int pid() const { return pid_; }
    bool read(uint64_t address, void* to, size_t size) const;
    // All parts in one call, in their order; the number of bytes read, which end at the first part
    // that is not there.
    size_t read_parts(const std::vector<RemotePart>& parts) const;
    template <typename T>
    T value(uint64_t address) const {
        T found{};
        return read(address, &found, sizeof found) ? found : T{};
    }

  private:
    int pid_;
};

enum class WaitRead : uint8_t {
    walked,
    running,   // not in a system call
    moved,     // ran while it was read, so what was read belongs to two moments
    gone,      // has ended
    refused,   // the kernel does not show it to us
};

// What a thread waits in, with the stack it waits on; a second, larger copy where one is too short.
struct WaitStack {
    int64_t call = -1;  // number of the system call
    std::vector<uint64_t> arguments;
    uint64_t sp = 0, pc = 0;
    std::vector<uint8_t> stack;
    Walk walk;
};
WaitRead read_wait(const Space& space, int tid, WaitStack& wait);

// Copies a stack from its pointer on, page by page, so that it ends where the stack does.
size_t copy_stack(int pid, uint64_t start, size_t size, std::vector<uint8_t>& to);
constexpr size_t usual_copy = 16384, largest_copy = 65536;

// A line of /proc/PID/task/TID/syscall; false when it does not tell of a waiting thread.
bool parse_syscall(const std::string& line, WaitStack& wait);

}  // namespace gnomon::frames
