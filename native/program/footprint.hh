// The memory of a program and its children, from procfs.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <unordered_map>
#include <unordered_set>

namespace gnomon {

// Follows the tree of processes below one that was started. A process is known by a
// descriptor of its /proc/PID/statm, which stays with it: a number that the kernel gives
// away again is never mistaken for it, and a child whose parent has ended is kept.
class Footprint {
  public:
    static constexpr size_t words = 2;

    explicit Footprint(pid_t root);
    ~Footprint();
    Footprint(const Footprint&) = delete;
    Footprint& operator=(const Footprint&) = delete;

    // Bytes resident and bytes mapped, summed over all processes; false when none is left.
    bool read(uint64_t* into);
    // Processes that could not be opened, for lack of descriptors above all.
    uint64_t unreadable() const { return unreadable_; }

  private:
    void look_for_children();
    bool forked_since();
    void follow(pid_t pid);

    std::unordered_map<pid_t, int> known_;    // to a descriptor of statm
    std::unordered_set<pid_t> strangers_;     // processes that are not below ours
    int last_pid_fd_ = -1;
    int64_t last_pid_ = -1;
    bool look_again_ = true;
    uint64_t next_look_ = 0, forget_strangers_ = 0;
    uint64_t unreadable_ = 0;
    uint64_t page_bytes_;
};

}  // namespace gnomon
