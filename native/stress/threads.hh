// What threads that load or probe memory share: a clock, a place to run at, a common start.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sched.h>
#include <system_error>
#include <thread>
#include <time.h>
#include <vector>

namespace gnomon::stress {

inline int64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

// Spins, but lets others run when what it waits for takes long: there may be fewer CPUs than
// threads.
class Patience {
public:
    void wait() {
        if (++spins_ % 4096)
            relax();
        else
            sched_yield();
    }

private:
    uint32_t spins_ = 0;
};

// Keeps the calling thread on a CPU while it lives, and lets it go where it was before.
class Pinned {
public:
    explicit Pinned(int cpu) {
        if (cpu < 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        if (cpu < CPU_SETSIZE) CPU_SET(cpu, &one);
        active_ = sched_getaffinity(0, sizeof before_, &before_) == 0 &&
                  sched_setaffinity(0, sizeof one, &one) == 0;
        if (!active_) error_ = errno;
    }
    ~Pinned() {
        if (active_) sched_setaffinity(0, sizeof before_, &before_);
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    // The errno with which pinning failed, or 0.
    int error() const { return error_; }
    void check() const {
        if (error_) throw std::system_error(error_, std::generic_category(), "sched_setaffinity");
    }

private:
    cpu_set_t before_;
    bool active_ = false;
    int error_ = 0;
};

// All threads leave `arrive` together.
class Barrier {
public:
    explicit Barrier(unsigned threads) : threads_(threads) {}

    void arrive() {
        const unsigned turn = turn_.load(std::memory_order_acquire);
        if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            waiting_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            return;
        }
        Patience patience;
        while (turn_.load(std::memory_order_acquire) == turn) patience.wait();
    }

private:
    const unsigned threads_;
    alignas(64) std::atomic<unsigned> waiting_{0};
    alignas(64) std::atomic<unsigned> turn_{0};
};

// Threads that each do `work(index)`: all of them begin, or none where the system refuses one;
// then std::system_error is thrown.
class Crew {
public:
    template <typename Work>
    Crew(size_t count, Work work) {
        try {
            for (size_t index = 0; index < count; ++index)
                threads_.emplace_back([this, work, index] {
                    if (may_begin()) work(index);
                });
        } catch (...) {
            order_ = Order::go_home;
            join();
            throw;
        }
        order_ = Order::begin;
    }
    ~Crew() { join(); }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    void join() {
        for (std::thread& thread : threads_)
            if (thread.joinable()) thread.join();
    }

private:
    enum class Order { wait, begin, go_home };

    bool may_begin() const {
        Patience patience;
        while (order_.load(std::memory_order_acquire) == Order::wait) patience.wait();
        return order_ == Order::begin;
    }

    std::atomic<Order> order_{Order::wait};
    std::vector<std::thread> threads_;
};

}  // namespace gnomon::stress
