#include "perf/ring.hh"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include "perf/group.hh"
#include "perf/spe_decode.hh"

namespace gnomon {

namespace {

// A cursor over the words of a record.
struct Words {
    const unsigned char* at;
    uint64_t next64() {
        uint64_t value;
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
    uint32_t next32() {
        uint32_t value;
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
};

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// What users without rights may have locked a CPU is half a megabyte.
constexpr size_t packet_buffer = size_t{256} << 10;
constexpr uint64_t packets_cut = 0x01;  // PERF_AUX_FLAG_TRUNCATED

}  // namespace

Sampler::Sampler(const std::vector<EventSpec>& specs, const std::vector<SampleSpec>& sampling,
                 pid_t pid, const std::vector<int>& cpus, size_t pages)
    : fds_(specs.size()), sampling_(sampling) {
    const bool packets = std::any_of(sampling_.begin(), sampling_.end(),
                                     [](const SampleSpec& how) { return how.aux; });
    // Beside a buffer of packets a ring has only news of maps and losses.
    const size_t bytes = ((packets ? std::min<size_t>(pages, 8) : pages) + 1) * page_bytes();
    for (int cpu : cpus) {
        int ring_fd = -1;
        for (size_t i = 0; i < specs.size(); ++i) {
            SampleSpec how = sampling_[i];
            how.track_maps = how.track_maps && i == 0;
            const int leader = how.follows && i > 0 ? fds_[i - 1].back() : -1;
            const int fd = open_event(specs[i], &how, pid, cpu, leader, false);
            if (fd < 0) {
                close();
                throw OpenFailure{-fd, i};
            }
            fds_[i].push_back(fd);
            uint64_t id = 0;
            int error = ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ? errno : 0;
            event_of_id_[id] = static_cast<uint32_t>(i);
            if (!error && ring_fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0)
                error = errno;
            if (!error && ring_fd < 0) {
                void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                if (memory == MAP_FAILED) {
                    error = errno;
                } else {
                    rings_.push_back({fd, memory, bytes, cpu, pid, static_cast<uint32_t>(i)});
                    ring_fd = fd;
                    if (how.aux) error = map_packets(rings_.back());
                }
            }
            if (error) {
                close();
                throw OpenFailure{error, i};
            }
        }
    }
}

Sampler::~Sampler() { close(); }

void Sampler::close() noexcept {
    lost_ = lost();
    for (const Ring& ring : rings_) {
        if (ring.packets) munmap(ring.packets, ring.packet_bytes);
        munmap(ring.memory, ring.bytes);
    }
    rings_.clear();
    for (auto& event : fds_) {
        for (int fd : event) ::close(fd);
        event.clear();
    }
}

void Sampler::enable() {
    for (const auto& event : fds_)
        for (int fd : event) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

void Sampler::disable() {
    for (const auto& event : fds_)
        for (int fd : event) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

bool Sampler::wait(int timeout_ms) {
    std::vector<pollfd> watched;
    for (const Ring& ring : rings_) watched.push_back({ring.fd, POLLIN, 0});
    return poll(watched.data(), watched.size(), timeout_ms) > 0;
}

SampleColumns Sampler::drain() {
    SampleColumns columns;
    for (Ring& ring : rings_) {
        drain_ring(ring, columns);
        if (ring.packets) drain_packets(ring, columns);
    }
    return columns;
}

int Sampler::map_packets(Ring& ring) {
    auto* page = static_cast<perf_event_mmap_page*>(ring.memory);
    const size_t bytes = std::max(packet_buffer, page_bytes());
    page->aux_offset = ring.bytes;
    page->aux_size = bytes;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
                        static_cast<off_t>(ring.bytes));
    if (memory == MAP_FAILED) return errno;
    ring.packets = memory;
    ring.packet_bytes = bytes;
    return 0;
}

void Sampler::drain_packets(Ring& ring, SampleColumns& columns) {
    auto* page = static_cast<perf_event_mmap_page*>(ring.memory);
    const auto* data = static_cast<unsigned char*>(ring.packets);
    const uint64_t head = std::atomic_ref<__u64>(page->aux_head).load(std::memory_order_acquire);
    const uint64_t tail = page->aux_tail;
    if (head == tail) return;
    // Joined, as a record may go over the end of the buffer.
    const uint64_t at = tail % ring.packet_bytes;
    const uint64_t first = std::min(head - tail, ring.packet_bytes - at);
    scratch_.assign(data + at, data + at + first);
    scratch_.insert(scratch_.end(), data, data + (head - tail - first));
    std::vector<spe::Record> records;
    const size_t used = spe::decode(scratch_.data(), scratch_.size(), tail, records);
    std::atomic_ref<__u64>(page->aux_tail).store(tail + used, std::memory_order_release);
    const SampleSpec& how = sampling_[ring.event];
    const uint64_t now = monotonic_ns();  // packets are stamped by another clock
    for (const spe::Record& record : records) {
        const uint32_t task = record.context ? record.context : static_cast<uint32_t>(ring.pid);
        columns.event.push_back(ring.event);
        columns.time.push_back(now);
        columns.ip.push_back(record.ip);
        columns.address.push_back(record.address);
        columns.period.push_back(how.period);
        columns.weight.push_back(record.latency);
        columns.data_source.push_back(spe::data_source(record, how.common_sources));
        columns.pid.push_back(ring.pid > 0 ? static_cast<uint32_t>(ring.pid) : task);
        columns.tid.push_back(task);
        columns.cpu.push_back(static_cast<uint32_t>(ring.cpu));
        columns.chain_ends.push_back(columns.chain_frames.size());
    }
}

std::vector<MappedFile> Sampler::take_maps() {
    std::vector<MappedFile> taken;
    taken.swap(maps_);
    return taken;
}

void Sampler::totals(size_t event, uint64_t out[3]) const {
    out[0] = out[1] = out[2] = 0;
    for (int fd : fds_.at(event)) {
        uint64_t words[4];  // the number of lost samples comes last, if at all
        if (::read(fd, words, sizeof words) < static_cast<ssize_t>(3 * sizeof(uint64_t))) continue;
        out[0] += words[1];
        out[1] += words[2];
        out[2] += words[0];
    }
}

uint64_t Sampler::lost() const {
    // The ring tells of losses only once there is room for a record, the kernel at any time.
    uint64_t total = 0;
    for (const auto& event : fds_)
        for (int fd : event) {
            uint64_t words[4];
            if (::read(fd, words, sizeof words) == static_cast<ssize_t>(sizeof words))
                total += words[3];
        }
    return std::max(lost_, total);
}

void Sampler::drain_ring(Ring& ring, SampleColumns& columns) {
    auto* page = static_cast<perf_event_mmap_page*>(ring.memory);
    const auto* data = static_cast<unsigned char*>(ring.memory) + page_bytes();
    const uint64_t size = ring.bytes - page_bytes();
    const uint64_t head = std::atomic_ref<__u64>(page->data_head).load(std::memory_order_acquire);
    uint64_t tail = page->data_tail;
    while (tail < head) {
        perf_event_header header;
        const uint64_t at = tail & (size - 1);  // headers are 8-byte aligned and never wrap
        std::memcpy(&header, data + at, sizeof header);
        if (at + header.size <= size) {
            take_record(data + at, columns);
        } else {  // the record goes over the end of the ring: join its halves
            scratch_.resize(header.size);
            const uint64_t first = size - at;
            std::memcpy(scratch_.data(), data + at, first);
            std::memcpy(scratch_.data() + first, data, header.size - first);
            take_record(scratch_.data(), columns);
        }
        tail += header.size;
    }
    std::atomic_ref<__u64>(page->data_tail).store(tail, std::memory_order_release);
}

void Sampler::take_record(const unsigned char* record, SampleColumns& columns) {
    perf_event_header header;
    std::memcpy(&header, record, sizeof header);
    const unsigned char* body = record + sizeof header;
    Words words{body};
    switch (header.type) {
        case PERF_RECORD_SAMPLE: take_sample(body, columns); break;
        case PERF_RECORD_LOST:
            words.next64();  // id
            lost_ += words.next64();
            break;
        case PERF_RECORD_LOST_SAMPLES: lost_ += words.next64(); break;
        case PERF_RECORD_THROTTLE: ++throttled_; break;
        case PERF_RECORD_AUX:
            words.next64();  // where packets are
            words.next64();  // how many bytes
            if (words.next64() & packets_cut) ++lost_;  // nobody knows how many
            break;
        case PERF_RECORD_MMAP2: take_map(body, header.size - sizeof header); break;
        default: break;
    }
}

void Sampler::take_sample(const unsigned char* body, SampleColumns& columns) {
    Words words{body};
    const auto found = event_of_id_.find(words.next64());
    if (found == event_of_id_.end()) return;
    const SampleSpec& how = sampling_[found->second];
    columns.event.push_back(found->second);
    columns.ip.push_back(words.next64());
    columns.pid.push_back(words.next32());
    columns.tid.push_back(words.next32());
    columns.time.push_back(words.next64());
    columns.address.push_back(how.address ? words.next64() : 0);
    columns.cpu.push_back(words.next32());
    words.next32();  // reserved
    columns.period.push_back(how.frequency ? words.next64() : how.period);
    if (how.callchain) {
        const uint64_t frames = words.next64();
        for (uint64_t i = 0; i < frames; ++i) columns.chain_frames.push_back(words.next64());
    }
    columns.chain_ends.push_back(columns.chain_frames.size());
    columns.weight.push_back(how.weight ? words.next64() : 0);
    columns.data_source.push_back(how.data_source ? words.next64() : 0);
}

void Sampler::take_map(const unsigned char* body, size_t bytes) {
    constexpr size_t fixed = 64;  // everything before the file name, in every kernel
    if (bytes <= fixed) return;
    Words words{body};
    MappedFile map{};
    map.pid = words.next32();
    words.next32();  // tid
    map.start = words.next64();
    map.length = words.next64();
    map.offset = words.next64();
    const char* name = reinterpret_cast<const char*>(body + fixed);
    const size_t length = strnlen(name, bytes - fixed);
    map.path.assign(name, length);
    // With sample_id_all a trailer follows: tid, time, cpu, id; the time is its second word.
    constexpr size_t trailer = 32;
    if (bytes >= fixed + trailer)
        std::memcpy(&map.time, body + bytes - trailer + 8, sizeof map.time);
    maps_.push_back(std::move(map));
}

}  // namespace gnomon
