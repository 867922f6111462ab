// Opening perf events: the one place that fills in a perf_event_attr.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace gnomon {

// What to count and how; field names follow perf_event_open(2).
struct EventSpec {
    uint32_t type = 0;
    uint64_t config = 0;
    uint64_t config1 = 0;
    uint64_t config2 = 0;
    uint32_t bp_type = 0;
    bool exclude_user = false;
    bool exclude_kernel = false;
    bool exclude_hv = false;
    bool exclude_guest = false;
    bool exclude_host = false;
    bool pinned = false;
    bool exclusive = false;
    bool inherit = false;
    bool enable_on_exec = false;
    int precise = 0;
};

// How an event is sampled; a zero period means that it is only counted.
struct SampleSpec {
    uint64_t period = 0;
    bool frequency = false;  // period is then in samples a second
    bool callchain = false;
    bool weight = false;
    bool data_source = false;
    bool address = false;
    bool track_maps = false;  // also report mapped files and names of tasks
    bool wake_each = false;   // wake a reader at every sample, not when a ring fills up
    bool follows = false;     // counts only beside the event before it, which leads their group
    bool aux = false;         // samples come as packets of SPE in a buffer of their own
    bool common_sources = false;  // these number what answered as ARM's own cores do
};

// Opens a disabled event and returns its descriptor, or minus errno.
// `grouped` asks for the reading format of a whole group. A sampled event reads as value,
// enabled, running and, where the kernel tells it, the number of lost samples.
int open_event(const EventSpec& spec, const SampleSpec* sampling, pid_t pid, int cpu,
               int leader_fd, bool grouped);

uint64_t monotonic_ns();

}  // namespace gnomon
