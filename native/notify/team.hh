// Processes that measure together, watched by the one that started them: when one of them
// dies, all of them end; none of them outlives the watcher.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

#include "notify/shared.hh"

namespace gnomon::notify {

struct TeamFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Team {
  public:
    Team();
    ~Team();  // kills and reaps whoever is left
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Forks a process that runs `work` on a CPU and ends.
    void start(const char* name, int cpu, const std::function<void()>& work);
    // Forks one that spins at the lowest priority, so that the CPU has no reason to halt.
    void keep_awake(int cpu);
    // Waits until all that work have ended well; throws TeamFailure otherwise. `stopping` is
    // asked now and then, and may throw.
    void wait(uint64_t timeout_ns, const std::function<void()>& stopping);

  private:
    struct Member {
        pid_t pid;
        std::string name;
        int watch;  // a descriptor that tells the end, or -1
        bool works;
        bool ended = false;
        int status = 0;
    };
    void add(const char* name, int cpu, bool works, const std::function<void()>& work);
    bool look(Member& member, bool block);
    static void end(const Member& member) noexcept;
    void kill_all() noexcept;
    void release() noexcept;
    std::atomic<uint32_t>& done() const;  // how many have done their work
    [[noreturn]] void report();
    SharedMemory complaints_;
    SharedMemory done_;
    bool released_ = false;
    std::vector<Member> members_;
};

}  // namespace gnomon::notify
