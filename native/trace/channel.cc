#include "trace/channel.hh"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <cstdio>
#include <ctime>
#include <linux/futex.h>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace gnomon::machine {

namespace {

constexpr uint64_t piece = 16;
constexpr size_t ahead = 128;  // records to be fetched early from the other core's cache

constexpr bool is_code(int kind, Code code) { return kind == static_cast<int>(code); }
static_assert(is_code(GNOMON_LOAD, Code::load) && is_code(GNOMON_STORE, Code::store) &&
              is_code(GNOMON_ATOMIC, Code::atomic) && is_code(GNOMON_UNLOCK, Code::unlock) &&
              is_code(GNOMON_START, Code::start) && is_code(GNOMON_JOIN, Code::join) &&
              is_code(GNOMON_AWAY, Code::away) && is_code(GNOMON_SLEEP, Code::sleep) &&
              is_code(GNOMON_ENTER, Code::enter) && is_code(GNOMON_LEAVE, Code::leave) &&
              static_cast<int>(Code::size) <= GNOMON_LONG);
static_assert(offsetof(Op, code) == 12 && offsetof(Op, size) == 13);
static_assert(std::endian::native == std::endian::little);
// A thread for which we have waited so long while it sleeps, or so long at all, is away. What it
// does now and then, as when it polls, does not count: only so many records do.
constexpr int64_t asleep_ns = 10'000'000, silent_ns = 500'000'000;
constexpr size_t busy = 1024;

int64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

template <typename T>
T load(const T& place, int order = __ATOMIC_ACQUIRE) {
    return __atomic_load_n(&place, order);
}

void wake(uint32_t& word) {
    __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

TraceChannel::TraceChannel(bool has_tasks) {
    fd_ = memfd_create("gnomon-trace", MFD_CLOEXEC);
    if (fd_ < 0) fail("memfd_create");
    void* memory = MAP_FAILED;
    if (ftruncate(fd_, sizeof(gnomon_trace)) == 0)
        memory = mmap(nullptr, sizeof(gnomon_trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;
        close_fd();
        errno = error;
        fail("the memory of a trace");
    }
    trace_ = static_cast<gnomon_trace*>(memory);
    trace_->header.magic = GNOMON_TRACE_MAGIC;
    trace_->header.version = GNOMON_TRACE_VERSION;
    trace_->header.reader = getpid();
    trace_->header.tasks = has_tasks;
}

TraceChannel::~TraceChannel() {
    detach();
    munmap(trace_, sizeof(gnomon_trace));
    close_fd();
    if (pid_fd_ >= 0) close(pid_fd_);
}

void TraceChannel::close_fd() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

void TraceChannel::watch(pid_t pid) {
    pid_ = pid;
    pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pid_fd_ < 0) fail("pidfd_open");
}

void TraceChannel::detach() {
    __atomic_store_n(&trace_->header.detached, 1, __ATOMIC_SEQ_CST);
    const uint32_t threads = std::min<uint32_t>(load(trace_->header.threads), GNOMON_TRACE_SLOTS);
    for (uint32_t i = 0; i < threads; ++i) wake(trace_->slots[i].full);
}

bool TraceChannel::writer_is_gone() {
    if (gone_) return true;
    if (pid_fd_ < 0) return false;
    // Asked with every pull that finds nothing: a system call each would cost too much.
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const int64_t tick = now.tv_sec * 1'000'000'000 + now.tv_nsec;
    if (looked_.exchange(tick, std::memory_order_relaxed) == tick) return false;
    pollfd watched = {pid_fd_, POLLIN, 0};
    if (poll(&watched, 1, 0) > 0) gone_ = true;
    return gone_;
}

TraceFeed::TraceFeed(std::shared_ptr<TraceChannel> channel, uint32_t number)
    : channel_(std::move(channel)),
      slot_(channel_->trace().slots[number]),
      ring_(channel_->trace().rings[number]) {}

bool TraceFeed::has_record() const {
    return (load(ring_[at_ & (GNOMON_RING_RECORDS - 1)]) & GNOMON_PHASE_BIT) == GNOMON_PHASE(at_);
}

// What was written before the end must still be seen: so the record is looked for last.
bool TraceFeed::has_ended() {
    const bool over = load(slot_.state) == GNOMON_FINISHED || channel_->writer_is_gone() ||
                      load(channel_->header().detached);
    return over && !has_record();
}

Supply TraceFeed::pull(Op* into, size_t room, size_t& given) {
    given = 0;
    if (say_away_ && room > 0) {
        say_away_ = false;
        is_away_ = true;
        into[given++] = Op{.code = Code::away};
        return Supply::more;
    }
    const uint64_t before = at_;
    while (given < room) {
        if (range_.bytes > 0)
            expand(into, room, given);
        else if (!take(into, room, given))
            break;
    }
    if (at_ != before) give_back(at_);
    if (given > 0) {
        is_away_ = into[given - 1].code == Code::away;
        if (given >= busy) idle_ns_ = 0;
        return Supply::more;
    }
    return room > 0 && has_ended() ? Supply::ended : Supply::pending;
}

// Decodes records until one is a range or there are no more; false when nothing came.
bool TraceFeed::take(Op* into, size_t room, size_t& given) {
    const uint64_t before = at_;
    while (given < room) {
        take_short(into, room, given);
        if (given == room) break;
        const uint64_t record = load(ring_[at_ & (GNOMON_RING_RECORDS - 1)]);
        if ((record & GNOMON_PHASE_BIT) != GNOMON_PHASE(at_)) break;
        const auto word = [&](uint64_t i) {
            return GNOMON_WORD_VALUE(ring_[(at_ + i) & (GNOMON_RING_RECORDS - 1)]);
        };
        const uint64_t address = GNOMON_RECORD_ADDRESS(record);
        const uint64_t kind = GNOMON_RECORD_KIND(record);
        if (kind == GNOMON_BARRIER || kind == GNOMON_LOCK) {
            into[given++] = Op{.value = address,
                               .site = static_cast<uint32_t>(word(1)),
                               .code = kind == GNOMON_LOCK ? Code::lock : Code::barrier};
            at_ += 2;
        } else if (kind == GNOMON_COPY) {
            range_ = {word(1), address, word(2), word(2) <= piece, true, true};
            at_ += 3;
            return true;
        } else if (kind >= GNOMON_LONG) {
            const bool loads = kind == GNOMON_LOAD_RANGE;
            range_ = {address, address, word(1), word(1) <= piece, loads, !loads};
            at_ += 2;
            return true;
        }
    }
    return at_ != before;
}

// Decodes records of one word, up to one that is longer or not there, or the ring's end.
void TraceFeed::take_short(Op* into, size_t room, size_t& given) {
    const uint64_t at = at_ & (GNOMON_RING_RECORDS - 1);
    const size_t most = std::min<size_t>(room - given, GNOMON_RING_RECORDS - at);
    const uint64_t phase = GNOMON_PHASE(at_);
    const uint64_t* record = ring_ + at;
    Op* to = into + given;
    size_t done = 0;
    for (; done < most; ++done) {
        if (done % 8 == 0) __builtin_prefetch(record + done + ahead);
        const uint64_t found = load(record[done]);
        if ((found & GNOMON_PHASE_BIT) != phase || (found & GNOMON_LONG) == GNOMON_LONG) break;
        // Code and size lie in an operation as in a record.
        const uint64_t words[2] = {GNOMON_RECORD_ADDRESS(found), (found & 0xff7f) << 32};
        std::memcpy(static_cast<void*>(to + done), words, sizeof words);
    }
    given += done;
    at_ += done;
}

void TraceFeed::expand(Op* into, size_t room, size_t& given) {
    while (range_.bytes > 0 && given < room) {
        const uint64_t length =
            range_.whole ? range_.bytes : std::min(range_.bytes, piece - range_.to % piece);
        const auto size = static_cast<uint8_t>(length);
        if (range_.loads && !range_.half) {
            into[given++] = Op{.value = range_.from, .code = Code::load, .size = size};
            range_.half = range_.stores;
            if (range_.half && given == room) return;
        }
        if (range_.stores) {
            into[given++] = Op{.value = range_.to, .code = Code::store, .size = size};
            range_.half = false;
        }
        range_.from += length;
        range_.to += length;
        range_.bytes -= length;
    }
}

void TraceFeed::give_back(uint64_t consumed) {
    __atomic_store_n(&slot_.consumed, consumed, __ATOMIC_SEQ_CST);
    if (!load(slot_.full, __ATOMIC_SEQ_CST)) return;
    // Woken for a few records only, the thread would soon sleep again.
    const uint64_t end = consumed + GNOMON_RING_RECORDS / 4;
    const bool low =
        (load(ring_[end & (GNOMON_RING_RECORDS - 1)]) & GNOMON_PHASE_BIT) != GNOMON_PHASE(end);
    if (low || !has_record()) wake(slot_.full);
}

bool TraceFeed::sleeps() const {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/stat", channel_->pid(), slot_.tid);
    std::FILE* file = std::fopen(path, "re");
    if (!file) return false;
    char text[256];
    const size_t length = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    text[length] = '\0';
    // The name of the program, in brackets, may hold brackets and blanks itself.
    const char* end = nullptr;
    for (const char* at = text; *at; ++at)
        if (*at == ')') end = at;
    return end && (end[2] == 'S' || end[2] == 'D' || end[2] == 'T');
}

bool TraceFeed::wait(int milliseconds) {
    constexpr int step_ms = 5;
    for (int left = milliseconds;; left -= step_ms) {
        if (say_away_ || range_.bytes > 0 || has_record() || has_ended()) return true;
        if (!is_away_ && load(slot_.state) == GNOMON_LIVE &&
            (idle_ns_ >= silent_ns || (idle_ns_ >= asleep_ns && sleeps()))) {
            say_away_ = true;
            return true;
        }
        if (left <= 0) return false;
        __atomic_store_n(&slot_.hungry, 1, __ATOMIC_SEQ_CST);
        if (!has_record() && load(slot_.state) != GNOMON_FINISHED) {
            const timespec limit = {0, std::min(left, step_ms) * 1'000'000L};
            const int64_t began = monotonic_ns();
            syscall(SYS_futex, &slot_.hungry, FUTEX_WAIT, 1, &limit, nullptr, 0);
            idle_ns_ += monotonic_ns() - began;
        }
        __atomic_store_n(&slot_.hungry, 0, __ATOMIC_RELAXED);
    }
}

}  // namespace gnomon::machine
