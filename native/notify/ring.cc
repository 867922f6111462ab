// Mechanisms that stay in user space as long as they can: polling, pausing, futexes, UMWAIT.
#include "notify/ring.hh"

#include <algorithm>
#include <bit>
#include <sched.h>

#include "perf/event.hh"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace gnomon::notify {

namespace {

// Small enough for a cache: what is to be seen is messages, not memory.
constexpr size_t ring_bytes = 1u << 17;
constexpr uint32_t most_slots = 64;
constexpr int patience = 1000;  // looks at a full ring before the processor is given away

size_t stride_of(size_t size) { return std::max<size_t>(64, (size + 63) / 64 * 64); }

uint32_t slots_of(size_t size) {
    const size_t fit = std::max<size_t>(2, ring_bytes / stride_of(size));
    return static_cast<uint32_t>(std::min<size_t>(most_slots, std::bit_floor(fit)));
}

class Polling final : public RingChannel {
  public:
    Polling(const ChannelOptions& options, bool pauses) : RingChannel(options), pauses_(pauses) {}

  protected:
    void notify() override {}
    void await() override {
        if (pauses_)
            while (!arrived()) relax();
        else
            while (!arrived()) {}
    }

  private:
    bool pauses_;
};

// Blocks on a futex, after spinning for a while or at once.
class FutexWaiting final : public RingChannel {
  public:
    FutexWaiting(const ChannelOptions& options, uint64_t spin_ns)
        : RingChannel(options), spin_ns_(spin_ns) {}

    void enter(int side, pid_t peer) override {
        RingChannel::enter(side, peer);
        if (spin_ns_ == 0) return;
        constexpr uint64_t trial = 2000;
        const uint64_t start = monotonic_ns();
        for (uint64_t i = 0; i < trial; ++i) {
            if (arrived()) break;
            relax();
        }
        const uint64_t taken = std::max<uint64_t>(monotonic_ns() - start, 1);
        spins_ = std::max<uint64_t>(spin_ns_ * trial / taken, 1);
    }

  protected:
    void notify() override {
        // Pairs with the reader, which says that it sleeps before it looks once more.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (out().sleeping.load(std::memory_order_relaxed)) wake_all(out().written);
    }
    void await() override {
        for (uint64_t i = 0; i < spins_; ++i) {
            if (arrived()) return;
            relax();
        }
        if (arrived()) return;
        in().sleeping.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        while (!arrived()) sleep_on(in().written, received_);
        in().sleeping.store(0, std::memory_order_relaxed);
    }

  private:
    uint64_t spin_ns_;
    uint64_t spins_ = 0;
};

#if defined(__x86_64__)

bool has_waitpkg() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 5 & 1);
}

constexpr uint64_t longest_wait = 100'000;  // cycles; the kernel has a limit of its own

// Lets the core rest until the line of the message's number is written to.
class MonitorWaiting final : public RingChannel {
  public:
    using RingChannel::RingChannel;

  protected:
    void notify() override {}
    __attribute__((target("waitpkg"))) void await() override {
        while (!arrived()) {
            _umonitor(&in().written);
            if (arrived()) return;
            _umwait(1, __rdtsc() + longest_wait);
        }
    }
};

class TimedPause final : public RingChannel {
  public:
    using RingChannel::RingChannel;

  protected:
    void notify() override {}
    __attribute__((target("waitpkg"))) void await() override {
        constexpr uint64_t pause = 200;  // cycles
        while (!arrived()) _tpause(1, __rdtsc() + pause);
    }
};

bool has_user_interrupts() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 5 & 1);
}

#endif

[[noreturn]] void no_user_interrupts() {
#if defined(__x86_64__)
    if (has_user_interrupts())
        throw Unavailable("the CPU has user interrupts, but Linux offers no system calls for them");
#endif
    throw Unavailable("the CPU has no user interrupts (UINTR)");
}

}  // namespace

RingChannel::RingChannel(const ChannelOptions& options)
    : memory_(2 * sizeof(Lane) +
              2 * std::max(ring_bytes, 2 * stride_of(options.largest))),
      lanes_(new (memory_.data()) Lane[2]),
      slots_(memory_.data() + 2 * sizeof(Lane)),
      lane_bytes_(std::max(ring_bytes, 2 * stride_of(options.largest))) {}

void RingChannel::enter(int side, pid_t peer) {
    Channel::enter(side, peer);
    constexpr size_t page = 4096;
    for (size_t at = 0; at < 2 * lane_bytes_; at += page)
        (void)*const_cast<volatile char*>(slots_ + at);  // mapped now, not with a message
}

void RingChannel::begin(size_t size) {
    Channel::begin(size);
    stride_ = stride_of(size);
    mask_ = slots_of(size) - 1;
}

void RingChannel::await_space() {
    for (int looks = 0;; ++looks) {
        known_read_ = out().read.load(std::memory_order_acquire);
        if (sent_ - known_read_ <= mask_) return;
        if (looks < patience)
            relax();
        else
            sched_yield();
    }
}

void RingChannel::send(const char* data) {
    // The reader's line is fetched only when the ring seems full, not with each message.
    if (sent_ - known_read_ > mask_) await_space();
    if (size_) std::memcpy(slot(side_, sent_), data, size_);
    ++sent_;
    out().written.store(sent_, std::memory_order_release);
    notify();
}

void RingChannel::receive(char* data) {
    await();
    if (size_) std::memcpy(data, slot(1 - side_, received_), size_);
    ++received_;
    in().read.store(received_, std::memory_order_release);
}

std::unique_ptr<Channel> make_waiting(const std::string& name, const ChannelOptions& options) {
    if (name == "poll") return std::make_unique<Polling>(options, false);
    if (name == "poll-pause") return std::make_unique<Polling>(options, true);
    if (name == "spin-block") return std::make_unique<FutexWaiting>(options, options.spin_ns);
    if (name == "futex") return std::make_unique<FutexWaiting>(options, 0);
    if (name == "uintr") no_user_interrupts();
    if (name == "umwait" || name == "tpause") {
#if defined(__x86_64__)
        if (!has_waitpkg()) throw Unavailable("the CPU has no UMWAIT and TPAUSE (WAITPKG)");
        if (name == "umwait") return std::make_unique<MonitorWaiting>(options);
        return std::make_unique<TimedPause>(options);
#else
        throw Unavailable("UMWAIT and TPAUSE are instructions of x86");
#endif
    }
    return nullptr;
}

}  // namespace gnomon::notify
