#include "account/timer_samples.hh"

#include <cerrno>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

namespace gnomon::account {

namespace {

constexpr size_t head_room = 4096;  // slots begin on the next page

}  // namespace

static_assert(sizeof(TimerHead) <= head_room);

TimerSamples::TimerSamples(int fd) {
    struct stat about;
    if (fstat(fd, &about) < 0) throw std::system_error(errno, std::generic_category(), "timer");
    bytes_ = static_cast<size_t>(about.st_size);
    if (bytes_ < head_room + sizeof(TimerSlot))
        throw std::system_error(EINVAL, std::generic_category(), "no room for samples of a timer");
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "timer");
    head_ = static_cast<TimerHead*>(memory);
    first_ = reinterpret_cast<TimerSlot*>(static_cast<char*>(memory) + head_room);
    slots_ = static_cast<uint32_t>((bytes_ - head_room) / sizeof(TimerSlot));
    head_->slots = slots_;
    head_->magic = timer_magic;
}

TimerSamples::~TimerSamples() { munmap(head_, bytes_); }

}  // namespace gnomon::account
