#include "perf/event.hh"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gnomon {

namespace {

// PERF_FORMAT_LOST came with Linux 6.0; its number is fixed even where the header is older.
constexpr uint64_t format_lost = 1u << 4;

// A period that no counter comes to the end of.
constexpr uint64_t never = uint64_t{1} << 60;

void set_sampling(perf_event_attr& attr, const SampleSpec& sampling) {
    attr.freq = sampling.frequency;
    attr.sample_period = sampling.period;
    // The order of these bits fixes the order of the fields in a record: see perf/ring.cc.
    attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    // Asked to report the period, the kernel samples software events at every occurrence
    // whatever the period is; a fixed one need not be reported anyway.
    if (sampling.frequency) attr.sample_type |= PERF_SAMPLE_PERIOD;
    if (!sampling.aux) {  // packets have these in them, if at all
        if (sampling.address) attr.sample_type |= PERF_SAMPLE_ADDR;
        if (sampling.callchain) attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
        if (sampling.weight) attr.sample_type |= PERF_SAMPLE_WEIGHT;
        if (sampling.data_source) attr.sample_type |= PERF_SAMPLE_DATA_SRC;
    }
    attr.sample_id_all = 1;
    attr.mmap = sampling.track_maps;
    attr.mmap2 = sampling.track_maps;
    attr.comm = sampling.track_maps;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = !sampling.wake_each;
    if (sampling.wake_each)
        attr.wakeup_events = 1;
    else
        attr.wakeup_watermark = 1u << 14;
}

}  // namespace

int open_event(const EventSpec& spec, const SampleSpec* sampling, pid_t pid, int cpu,
               int leader_fd, bool grouped) {
    perf_event_attr attr;
    std::memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = spec.type;
    attr.config = spec.config;
    attr.config1 = spec.config1;  // also the address of a breakpoint
    attr.config2 = spec.config2;  // also its length
    attr.bp_type = spec.bp_type;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (grouped) attr.read_format |= PERF_FORMAT_GROUP;
    // Members follow their leader, so only leaders start disabled or by exec.
    attr.disabled = leader_fd < 0;
    attr.enable_on_exec = spec.enable_on_exec && leader_fd < 0;
    attr.inherit = spec.inherit;
    attr.pinned = spec.pinned && leader_fd < 0;
    attr.exclusive = spec.exclusive && leader_fd < 0;
    attr.exclude_user = spec.exclude_user;
    attr.exclude_kernel = spec.exclude_kernel;
    attr.exclude_hv = spec.exclude_hv;
    attr.exclude_guest = spec.exclude_guest;
    attr.exclude_host = spec.exclude_host;
    attr.precise_ip = static_cast<unsigned>(spec.precise);
    if (sampling)
        set_sampling(attr, *sampling);
    else if (spec.precise)
        attr.sample_period = never;  // kernels refuse precise events that are not sampled
    if (sampling) attr.read_format |= format_lost;
    long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, leader_fd, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL && sampling) {
        attr.read_format &= ~format_lost;
        fd = syscall(SYS_perf_event_open, &attr, pid, cpu, leader_fd, PERF_FLAG_FD_CLOEXEC);
    }
    return fd < 0 ? -errno : static_cast<int>(fd);
}

uint64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace gnomon
