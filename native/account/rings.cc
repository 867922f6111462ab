#include "account/rings.hh"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf/event.hh"
#include "perf/group.hh"

namespace gnomon::account {

namespace {

enum Source : int { first_clock, second_clock, page_in, switches };

// Who waits for a ring to fill is woken by a single sample with its stack.
constexpr uint32_t watermark = 8192;
#if defined(__x86_64__)
constexpr uint64_t registers = 0xff01ff;  // see parse.cc
#else
constexpr uint64_t registers = 1;  // stacks are not walked here
#endif
constexpr size_t fewest_pages = 8;

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

perf_event_attr attributes(const RingOptions& options, Source source, bool kernel) {
    perf_event_attr attr;
    std::memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    // The trailer of all records has these fields, and a sample begins with them: see parse.cc.
    attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attr.sample_id_all = 1;
    attr.disabled = 1;
    attr.inherit = !options.tasks.empty();
    attr.enable_on_exec = options.on_exec;
    attr.exclude_kernel = !kernel;
    attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = watermark;
    switch (source) {
        case first_clock:
        case second_clock:
            attr.config = PERF_COUNT_SW_TASK_CLOCK;
            attr.sample_period = options.periods[source];
            attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
            attr.sample_regs_user = registers;
            attr.sample_stack_user = options.stack_bytes;
            if (kernel) {
                attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
                attr.exclude_callchain_user = 1;
            }
            break;
        case page_in:
            // Without a stack: a program that reads its pages in has tens of thousands a second.
            attr.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
            attr.sample_period = 1;
            break;
        case switches:
            attr.config = PERF_COUNT_SW_DUMMY;
            attr.context_switch = 1;
            break;
    }
    if (source == first_clock)
        attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    return attr;
}

}  // namespace

Rings::Rings(const RingOptions& options) {
    layout_.register_count = std::popcount(registers);
    int error = EACCES;
    for (const bool kernel : {true, false}) {
        if (kernel && !options.kernel) continue;
        kernel_ = layout_.kernel_chain = kernel;
        error = open_all(options);
        if (!error) return;
        close_all();
        if (error != EACCES && error != EPERM) break;
    }
    throw OpenFailure{error, 0};
}

Rings::~Rings() { close_all(); }

void Rings::close_all() noexcept {
    for (const Ring& ring : rings_) munmap(ring.memory, ring.bytes);
    rings_.clear();
    for (const int fd : fds_) close(fd);
    fds_.clear();
    switch_fds_.clear();
    sources_.clear();
}

int Rings::open_all(const RingOptions& options) {
    pages_ = options.pages;
    for (const int cpu : options.cpus) {
        int ring_fd = -1;
        if (options.tasks.empty()) {
            if (const int error = open_task(options, -1, cpu, ring_fd)) return error;
            continue;
        }
        for (const pid_t task : options.tasks) {
            const int error = open_task(options, task, cpu, ring_fd);
            // A thread may end while we attach.
            if (error == ESRCH && options.tasks.size() > 1) continue;
            if (error) return error;
        }
    }
    return rings_.empty() ? ESRCH : 0;
}

int Rings::open_task(const RingOptions& options, pid_t task, int cpu, int& ring_fd) {
    for (const Source source : {first_clock, second_clock, page_in, switches}) {
        if (source == switches && !options.switches) continue;
        perf_event_attr attr = attributes(options, source, kernel_);
        const auto fd = static_cast<int>(
            syscall(SYS_perf_event_open, &attr, task, cpu, -1, PERF_FLAG_FD_CLOEXEC));
        if (fd < 0) return errno;
        fds_.push_back(fd);
        if (source == switches) switch_fds_.push_back(fd);
        uint64_t id = 0;
        if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0) return errno;
        sources_[id] = source;
        if (ring_fd >= 0) {
            if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0) return errno;
            continue;
        }
        if (const int error = map_ring(fd)) return error;
        ring_fd = fd;
    }
    return 0;
}

// Users without rights may lock so much a CPU for all their rings together.
int Rings::map_ring(int fd) {
    for (;; pages_ /= 2) {
        const size_t bytes = (1 + pages_) * page_bytes();
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED) {
            rings_.push_back({fd, static_cast<unsigned char*>(memory), bytes});
            return 0;
        }
        if (errno != EPERM || pages_ <= fewest_pages) return errno;
    }
}

void Rings::enable() {
    for (const int fd : fds_) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

void Rings::stop_switches() {
    for (const int fd : switch_fds_) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

std::vector<int> Rings::descriptors() const {
    std::vector<int> found;
    for (const Ring& ring : rings_) found.push_back(ring.fd);
    return found;
}

void Rings::drain(RecordOrder& order) {
    fullest_ = 0;
    for (const Ring& ring : rings_) {
        auto* page = reinterpret_cast<perf_event_mmap_page*>(ring.memory);
        const unsigned char* data = ring.memory + page_bytes();
        const uint64_t size = ring.bytes - page_bytes();
        const uint64_t head = std::atomic_ref<__u64>(page->data_head).load(std::memory_order_acquire);
        uint64_t tail = page->data_tail;
        fullest_ = std::max(fullest_, static_cast<double>(head - tail) / static_cast<double>(size));
        while (tail < head) {
            perf_event_header header;
            const uint64_t at = tail & (size - 1);  // headers are 8-byte aligned and never wrap
            std::memcpy(&header, data + at, sizeof header);
            if (header.size < sizeof header || header.size > head - tail) {
                tail = head;
                break;
            }
            const unsigned char* record = data + at;
            if (at + header.size > size) {  // it goes over the end: join its halves
                const uint64_t first = size - at;
                joined_.assign(record, data + size);
                joined_.insert(joined_.end(), data, data + (header.size - first));
                record = joined_.data();
            }
            int64_t time = 0;
            const Bytes bytes(record, header.size);
            if (time_of(bytes, time)) order.add(time, bytes);
            tail += header.size;
        }
        std::atomic_ref<__u64>(page->data_tail).store(tail, std::memory_order_release);
    }
}

}  // namespace gnomon::account
