#include "program/footprint.hh"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "perf/event.hh"

namespace gnomon {

namespace {

constexpr uint64_t second = 1'000'000'000;
// Looking for children may take a fiftieth of the time.
constexpr uint64_t rest_after_look = 50;

// The text of a small file of procfs, cut to the buffer; its length, or -1.
ssize_t read_at_start(int fd, char* text, size_t room) {
    const ssize_t length = pread(fd, text, room - 1, 0);
    text[length > 0 ? length : 0] = 0;
    return length;
}

int open_of(pid_t pid, const char* file) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

// The parent's number, or -1 when the process has gone.
pid_t parent_of(pid_t pid) {
    const int fd = open_of(pid, "stat");
    if (fd < 0) return -1;
    char text[512];
    const ssize_t length = read_at_start(fd, text, sizeof text);
    close(fd);
    // The name stands in brackets and may itself hold brackets: the last one ends it.
    const char* end = length > 0 ? std::strrchr(text, ')') : nullptr;
    int parent = -1;
    if (!end || std::sscanf(end + 1, " %*c %d", &parent) != 1) return -1;
    return parent;
}

}  // namespace

Footprint::Footprint(pid_t root)
    : last_pid_fd_(open("/proc/loadavg", O_RDONLY | O_CLOEXEC)),
      page_bytes_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {
    follow(root);
}

Footprint::~Footprint() {
    for (const auto& [pid, fd] : known_) close(fd);
    if (last_pid_fd_ >= 0) close(last_pid_fd_);
}

void Footprint::follow(pid_t pid) {
    const int fd = open_of(pid, "statm");
    if (fd >= 0) known_.emplace(pid, fd);
    // One that has ended between the listing and now is not a failure.
    else if (errno != ENOENT && errno != ESRCH) ++unreadable_;
}

// Whether the kernel has given out a process number since the last look. A number is given
// out a moment before its process can be seen, so one more look follows.
bool Footprint::forked_since() {
    char text[128];
    if (last_pid_fd_ < 0 || read_at_start(last_pid_fd_, text, sizeof text) <= 0) return true;
    const char* number = std::strrchr(text, ' ');
    const int64_t last = number ? std::atoll(number) : -1;
    const bool changed = last != last_pid_ || last < 0;
    last_pid_ = last;
    const bool look = changed || look_again_;
    look_again_ = changed;
    return look;
}

void Footprint::look_for_children() {
    const uint64_t now = monotonic_ns();
    if (now < next_look_ || !forked_since()) return;
    if (now >= forget_strangers_) {
        strangers_.clear();  // their numbers may come to belong to ours
        forget_strangers_ = now + second;
    }
    std::vector<std::pair<pid_t, pid_t>> fresh;  // processes that are new, and their parents
    DIR* folder = opendir("/proc");
    if (!folder) return;
    while (const dirent* entry = readdir(folder)) {
        const pid_t pid = std::atoi(entry->d_name);
        if (pid > 0 && !known_.count(pid) && !strangers_.count(pid))
            fresh.emplace_back(pid, parent_of(pid));
    }
    closedir(folder);
    for (bool found = true; found;) {  // a child may be listed before its parent
        found = false;
        std::erase_if(fresh, [&](const auto& process) {
            if (!known_.count(process.second)) return false;
            follow(process.first);
            return found = true;
        });
    }
    for (const auto& process : fresh) strangers_.insert(process.first);
    const uint64_t end = monotonic_ns();
    next_look_ = end + (end - now) * rest_after_look;
}

bool Footprint::read(uint64_t* into) {
    look_for_children();
    into[0] = into[1] = 0;
    bool alive = false;
    char text[128];
    for (auto process = known_.begin(); process != known_.end();) {
        unsigned long long size = 0, resident = 0;
        const ssize_t length = read_at_start(process->second, text, sizeof text);
        if (length <= 0 || std::sscanf(text, "%llu %llu", &size, &resident) != 2) {
            close(process->second);
            process = known_.erase(process);
            continue;
        }
        into[0] += resident * page_bytes_;
        into[1] += size * page_bytes_;
        alive |= size > 0;  // one that has ended and was not waited for has no memory
        ++process;
    }
    return alive;
}

}  // namespace gnomon
