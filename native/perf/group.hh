// A group of events that the kernel schedules and reads as a unit.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

#include "perf/event.hh"

struct perf_event_mmap_page;

namespace gnomon {

class Group {
  public:
    // Opens all events or none; throws std::system_error with the index of the culprit in
    // `failed_index` of the exception. A `leader` makes them members of another group's
    // set while they are still read by themselves.
    Group(const std::vector<EventSpec>& specs, pid_t pid, int cpu, const Group* leader);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    size_t size() const { return fds_.size(); }
    bool is_open() const { return !fds_.empty(); }
    int leader_fd() const;
    void enable();
    void disable();
    void reset();
    void close() noexcept;

    // Words in a reading: time enabled, time running, then one value an event.
    size_t words() const { return size_ + 2; }
    // Returns 0 or errno. A pinned group that lost its counter reads as ENODATA. Threads may
    // read at the same time.
    int read(uint64_t* out);
    // The same without a system call where the kernel lets user space read the counters.
    // Falls back to read() for events that are not on a counter at this moment.
    int read_user(uint64_t* out);
    bool map_user_pages();

  private:
    std::vector<int> fds_;
    std::vector<perf_event_mmap_page*> pages_;
    size_t size_ = 0;
    bool grouped_ = false;
};

struct OpenFailure {
    int error;
    size_t index;
};

}  // namespace gnomon
