#include "regions/table.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace gnomon {

namespace {

constexpr char magic[8] = {'G', 'N', 'R', 'E', 'G', 'I', 'O', 'N'};
constexpr uint32_t version = 1;

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void copy_text(char* to, size_t room, const std::string& text) {
    const size_t length = std::min(text.size(), room - 1);
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
}

}  // namespace

// A process that replaces its program keeps its number, and numbers come round again: the
// file of whoever had it before must not be overwritten.
int RegionTable::make_file(const std::string& folder) {
    const std::string stem = folder + "/regions-" + std::to_string(getpid());
    int fd = -1;
    for (int more = 0; fd < 0; ++more) {
        path_ = more ? stem + "-" + std::to_string(more) : stem;
        fd = open(path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
        if (fd < 0 && errno != EEXIST) fail(path_);
    }
    if (ftruncate(fd, static_cast<off_t>(mapped_)) < 0) {
        const int error = errno;
        close(fd);
        errno = error;
        fail(path_);
    }
    return fd;
}

RegionTable::RegionTable(const std::string& folder, const std::vector<std::string>& events) {
    mapped_ = sizeof(RegionTableHeader) + capacity * sizeof(RegionNode);
    int fd = -1;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (!folder.empty()) {
        fd = make_file(folder);
        flags = MAP_SHARED;
    }
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, flags, fd, 0);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (memory == MAP_FAILED) {
        errno = error;
        fail("region table");
    }
    header_ = static_cast<RegionTableHeader*>(memory);
    nodes_ = reinterpret_cast<RegionNode*>(header_ + 1);
    header_->version = version;
    header_->process = static_cast<uint32_t>(getpid());
    header_->parent_process = static_cast<uint32_t>(getppid());
    header_->capacity = capacity;
    header_->events = static_cast<uint32_t>(std::min<size_t>(events.size(), most_region_events));
    for (uint32_t i = 0; i < header_->events; ++i)
        copy_text(header_->event_names[i], sizeof header_->event_names[i], events[i]);
    header_->nodes = 0;
    std::memcpy(header_->magic, magic, sizeof magic);  // last: now the table is valid
}

RegionTable::~RegionTable() { munmap(header_, mapped_); }

void RegionTable::discard() {
    if (!path_.empty() && header_->process == static_cast<uint32_t>(getpid()))
        unlink(path_.c_str());
}

uint32_t RegionTable::add(uint32_t parent, const std::string& name) {
    uint32_t index = header_->nodes.load();
    do {
        if (index >= capacity) return capacity - 1;
    } while (!header_->nodes.compare_exchange_weak(index, index + 1));
    RegionNode& fresh = nodes_[index];
    const bool last = index == capacity - 1;
    fresh.parent = last ? no_region : parent;
    fresh.shortest = ~uint64_t{0};
    const std::string shown = last ? "(more)" : name;
    copy_text(fresh.name, sizeof fresh.name, shown);
    fresh.name_bytes = static_cast<uint32_t>(std::min(shown.size(), sizeof fresh.name - 1));
    return index;
}

std::string RegionTable::bytes() const {
    const size_t used = std::min<uint32_t>(header_->nodes.load(), capacity);
    return std::string(reinterpret_cast<const char*>(header_),
                       sizeof(RegionTableHeader) + used * sizeof(RegionNode));
}

}  // namespace gnomon
