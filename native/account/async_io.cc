#include "account/async_io.hh"

#include <algorithm>
#include <cstring>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>

#include "frames/remote.hh"

namespace gnomon::account {

namespace {

constexpr size_t most = 16;

void add(std::vector<int>& found, int fd) {
    if (fd >= 0 && found.size() < most && std::find(found.begin(), found.end(), fd) == found.end())
        found.push_back(fd);
}

// Where the queue of requests is mapped: the file's number is not in the mapping, so a process with
// several rings gives the requests of all.
std::vector<std::pair<uint64_t, uint64_t>> queues(int pid) {
    const std::string maps = read_whole("/proc/" + std::to_string(pid) + "/maps");
    std::vector<std::pair<uint64_t, uint64_t>> found;
    for (size_t start = 0; start < maps.size();) {
        const size_t stop = std::min(maps.find('\n', start), maps.size());
        const std::string line = maps.substr(start, stop - start);
        start = stop + 1;
        unsigned long long from, to, offset;
        char rights[8];
        if (line.find("[io_uring]") == std::string::npos ||
            std::sscanf(line.c_str(), "%llx-%llx %7s %llx", &from, &to, rights, &offset) != 4)
            continue;
        if (offset == IORING_OFF_SQES) found.emplace_back(from, to - from);
    }
    return found;
}

}  // namespace

std::vector<int> uring_descriptors(int pid, int ring_fd) {
    (void)ring_fd;
    std::vector<int> found;
    const frames::RemoteMemory memory(pid);
    for (const auto& [start, size] : queues(pid)) {
        std::vector<io_uring_sqe> queue(std::min<uint64_t>(size, 4096) / sizeof(io_uring_sqe));
        if (!memory.read(start, queue.data(), queue.size() * sizeof(io_uring_sqe))) continue;
        for (const io_uring_sqe& each : queue)
            if (each.opcode != IORING_OP_NOP && !(each.flags & IOSQE_FIXED_FILE)) add(found, each.fd);
    }
    return found;
}

std::vector<int> aio_descriptors(int pid, uint64_t context) {
    struct Head {  // of the ring that the kernel maps at the context
        uint32_t id, events, head, tail, magic, compatible, incompatible, size;
    } ring;
    constexpr uint32_t magic = 0xa10a10a1;
    const frames::RemoteMemory memory(pid);
    std::vector<int> found;
    if (!memory.read(context, &ring, sizeof ring) || ring.magic != magic || ring.events == 0 ||
        ring.events > 1u << 20)
        return found;
    for (uint32_t back = 1; back <= 8 && back <= ring.events; ++back) {
        const uint32_t place = (ring.tail + ring.events - back) % ring.events;
        io_event event{};
        iocb request{};
        if (!memory.read(context + sizeof ring + place * sizeof event, &event, sizeof event)) break;
        if (!event.obj || !memory.read(event.obj, &request, sizeof request)) continue;
        add(found, static_cast<int>(request.aio_fildes));
    }
    return found;
}

}  // namespace gnomon::account
