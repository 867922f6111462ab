#include "perf/group.hh"

#include <algorithm>
#include <cerrno>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include "perf/user_read.hh"

namespace gnomon {

namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// A pinned event that could not stay on a counter is in error and reads as end of file.
int read_whole(int fd, void* into, size_t bytes) {
    const ssize_t got = ::read(fd, into, bytes);
    if (got < 0) return errno;
    return static_cast<size_t>(got) < bytes ? ENODATA : 0;
}

}  // namespace

Group::Group(const std::vector<EventSpec>& specs, pid_t pid, int cpu, const Group* leader)
    : size_(specs.size()), grouped_(specs.size() > 1) {
    fds_.reserve(size_);
    int leader_fd = leader ? leader->leader_fd() : -1;
    for (size_t i = 0; i < size_; ++i) {
        int fd = open_event(specs[i], nullptr, pid, cpu, leader_fd, grouped_);
        if (fd < 0) {
            close();
            throw OpenFailure{-fd, i};
        }
        fds_.push_back(fd);
        if (leader_fd < 0) leader_fd = fd;
    }
}

Group::~Group() { close(); }

void Group::close() noexcept {
    for (auto* page : pages_) munmap(page, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    pages_.clear();
    // Members first: closing a leader would turn them into events of their own.
    for (auto fd = fds_.rbegin(); fd != fds_.rend(); ++fd) ::close(*fd);
    fds_.clear();
}

int Group::leader_fd() const {
    if (fds_.empty()) throw std::system_error(EBADF, std::generic_category(), "closed group");
    return fds_.front();
}

// Members stay enabled all the time and run when their leader does. Switching them one by
// one with PERF_IOC_FLAG_GROUP leaves those of another PMU than the leader's off for good
// when a group is switched on again (seen on Linux 6.18 with task-clock and page-faults).
void Group::enable() {
    if (ioctl(leader_fd(), PERF_EVENT_IOC_ENABLE, 0) < 0) fail("enable");
}

void Group::disable() {
    if (ioctl(leader_fd(), PERF_EVENT_IOC_DISABLE, 0) < 0) fail("disable");
}

void Group::reset() {
    if (ioctl(leader_fd(), PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP) < 0) fail("reset");
}

int Group::read(uint64_t* out) {
    if (fds_.empty()) return EBADF;
    if (!grouped_) {  // value, enabled, running
        uint64_t words[3];
        if (int error = read_whole(fds_.front(), words, sizeof words)) return error;
        out[0] = words[1];
        out[1] = words[2];
        out[2] = words[0];
        return 0;
    }
    std::vector<uint64_t> words(size_ + 3);  // number of events, enabled, running, values
    if (int error = read_whole(fds_.front(), words.data(), words.size() * sizeof(uint64_t)))
        return error;
    std::copy(words.begin() + 1, words.end(), out);
    return 0;
}

bool Group::map_user_pages() {
    if (!can_read_user) return false;
    if (pages_.size() == size_) return true;
    const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (int fd : fds_) {
        void* page = mmap(nullptr, page_size, PROT_READ, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED) {
            for (auto* mapped : pages_) munmap(mapped, page_size);
            pages_.clear();
            return false;
        }
        pages_.push_back(static_cast<perf_event_mmap_page*>(page));
    }
    for (auto* page : pages_)
        if (!page->cap_user_rdpmc) return false;
    return true;
}

int Group::read_user(uint64_t* out) {
    if (pages_.size() != size_) return read(out);
    uint64_t enabled = 0, running = 0;
    for (size_t i = 0; i < size_; ++i) {
        if (!read_user_page(pages_[i], out[i + 2], enabled, running)) return read(out);
        if (i == 0) {
            out[0] = enabled;
            out[1] = running;
        }
    }
    return 0;
}

}  // namespace gnomon
