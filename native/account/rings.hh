// The perf events of a recording: two clocks with stacks, page-ins, and changes of a CPU's thread; one
// ring a CPU.
#pragma once

#include <sys/types.h>
#include <unordered_map>
#include <vector>

#include "account/order.hh"
#include "account/parse.hh"

namespace gnomon::account {

struct RingOptions {
    std::vector<int> cpus;
    std::vector<pid_t> tasks;          // empty: whatever runs on the CPUs
    bool on_exec = false;              // begin when the task calls exec
    bool kernel = true;                // also the kernel's part, if that is permitted
    bool switches = true;
    uint64_t periods[2] = {9'300'000, 10'800'000};  // ns: no common multiple below 0.3 s
    uint32_t stack_bytes = 16384;
    size_t pages = 128;
};

class Rings {
  public:
    // Throws perf's OpenFailure when nothing can be opened.
    explicit Rings(const RingOptions& options);
    ~Rings();
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    void enable();
    // Takes what is there to `order`.
    void drain(RecordOrder& order);
    void stop_switches();

    const RecordLayout& layout() const { return layout_; }
    bool sees_kernel() const { return kernel_; }
    // What a sample is of: 0 and 1 the clocks, 2 a page-in, -1 none of ours.
    int source(uint64_t id) const {
        const auto found = sources_.find(id);
        return found == sources_.end() ? -1 : found->second;
    }
    size_t pages() const { return pages_; }
    // To be watched for readable descriptors: one a ring.
    std::vector<int> descriptors() const;
    // The fullest ring of the last drain, as a share.
    double fullest() const { return fullest_; }

  private:
    struct Ring {
        int fd;
        unsigned char* memory;
        size_t bytes;
    };
    int open_all(const RingOptions& options);
    int open_task(const RingOptions& options, pid_t task, int cpu, int& ring_fd);
    int map_ring(int fd);
    void close_all() noexcept;

    RecordLayout layout_;
    bool kernel_ = false;
    size_t pages_ = 0;
    std::vector<int> fds_, switch_fds_;
    std::vector<Ring> rings_;
    std::unordered_map<uint64_t, int> sources_;
    double fullest_ = 0;
    std::vector<unsigned char> joined_;
};

}  // namespace gnomon::account
