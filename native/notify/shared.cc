#include "notify/shared.hh"

#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "notify/channel.hh"

namespace gnomon::notify {

void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

Descriptor::~Descriptor() {
    if (fd_ >= 0) close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        if (fd_ >= 0) close(fd_);
        fd_ = other.fd_;
        other.fd_ = -1;
    }
    return *this;
}

SharedMemory::SharedMemory(size_t bytes) : bytes_(bytes) {
    void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) fail("shared memory");
    data_ = static_cast<char*>(place);
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

void sleep_on(std::atomic<uint32_t>& word, uint32_t value) {
    syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Meeting::meet(uint32_t parties) {
    const uint32_t mine = arrived_.fetch_add(1) + 1;
    const uint32_t complete = (mine + parties - 1) / parties * parties;
    if (mine == complete) {
        wake_all(arrived_);
        return;
    }
    for (uint32_t now = arrived_.load(); static_cast<int32_t>(now - complete) < 0;
         now = arrived_.load())
        sleep_on(arrived_, now);
}

}  // namespace gnomon::notify
