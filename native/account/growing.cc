#include "account/growing.hh"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

namespace gnomon::account {

namespace {

constexpr size_t step = size_t{4} << 20;
constexpr uint64_t spared = uint64_t{64} << 20;  // bytes of a file system that others may need

int unnamed_file(const std::string& folder) {
    const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    std::string path = folder + "/gnomon-XXXXXX";
    const int named = mkostemp(path.data(), O_CLOEXEC);
    if (named >= 0) unlink(path.c_str());
    return named;
}

}  // namespace

Room::~Room() {
    if (fd_ >= 0) close(fd_);
}

bool Room::open_next() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    used_ = 0;
    while (fd_ < 0 && next_ < folders_.size()) fd_ = unnamed_file(folders_[next_++]);
    if (fd_ >= 0) spilled_to_ = folders_[next_ - 1];
    return fd_ >= 0;
}

bool Room::provide(char* at, size_t bytes) {
    if (left_ >= bytes) {
        left_ -= bytes;
        return mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0;
    }
    left_ = 0;
    for (;;) {
        struct statvfs about;
        if (fd_ >= 0 && fstatvfs(fd_, &about) == 0 &&
            uint64_t{about.f_bavail} * about.f_frsize > spared + bytes &&
            posix_fallocate(fd_, used_, static_cast<off_t>(bytes)) == 0) {
            void* made = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, used_);
            if (made == MAP_FAILED) return false;
            used_ += static_cast<int64_t>(bytes);
            return true;
        }
        if (!open_next()) return false;
    }
}

Growing::Growing(Room& room, size_t most) : room_(room) {
    // Less where the process may not have so many addresses.
    for (size_t size = std::max(step, most / step * step); size >= step; size = size / 2 / step * step) {
        void* made = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) continue;
        start_ = static_cast<char*>(made);
        reserved_ = size;
        return;
    }
    throw std::system_error(ENOMEM, std::generic_category(), "no room for records");
}

Growing::~Growing() { munmap(start_, reserved_); }

bool Growing::grow(size_t bytes) {
    while (size_ + bytes > provided_) {
        if (provided_ + step > reserved_ || !room_.provide(start_ + provided_, step)) return false;
        provided_ += step;
    }
    size_ += bytes;
    return true;
}

}  // namespace gnomon::account
