// Which pages of a process were written since they were last asked for: userfaultfd's
// asynchronous write protection, read by PAGEMAP_SCAN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace gnomon::pages {

struct Run {  // pages that follow each other, as addresses
    uint64_t start, end;
};

struct Mapping {
    uint64_t start, end;
    bool shared;
};

class Tracker {
  public:
    // `userfaultfd` is one of the process's own memory, and ours to close.
    Tracker(pid_t pid, int userfaultfd);
    ~Tracker();
    Tracker(const Tracker&) = delete;
    Tracker& operator=(const Tracker&) = delete;

    // Pages written since the last call, protected anew; false when the process has ended.
    bool scan(std::vector<Run>& written);
    // Of one range only, without a look at what is mapped: for measuring.
    void scan_range(uint64_t start, uint64_t end, bool shared, std::vector<Run>& written);
    uint64_t tracked_bytes() const { return tracked_bytes_; }
    uint64_t untracked_bytes() const { return untracked_bytes_; }

  private:
    bool read_maps(std::vector<Mapping>& mappings);
    bool protect(const Mapping& mapping);
    void collect(uint64_t start, uint64_t end, uint64_t absent, bool again,
                 std::vector<Run>& into);

    pid_t pid_;
    int uffd_;
    int pagemap_ = -1;
    uint64_t tracked_bytes_ = 0, untracked_bytes_ = 0;
    std::vector<Mapping> shared_;  // that were protected as a whole
};

// The node of each page of a process, negative where it has none now.
std::vector<int> nodes_of(pid_t pid, const uint64_t* addresses, size_t count);

// Why this kernel cannot do it: an errno, 0 when it can.
int tracking_error();

}  // namespace gnomon::pages
