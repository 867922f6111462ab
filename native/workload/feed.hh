// Feeds that are written as programs: a coroutine a thread that emits operations as it goes.
//
// What a thread gives must not depend on how far others were pulled, so threads that work on
// common data share results that were computed before the first operation.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/program.hh"

namespace gnomon::workload {

using machine::Code;
using machine::Feed;
using machine::Op;
using machine::Supply;
using machine::waits;

// The result left the normal range: a machine may trap and finish the operation in software.
constexpr uint8_t traps = 2;

// A part of a program. It may wait for room in the buffer, or for another part to end.
class Steps {
  public:
    struct promise_type {
        Steps get_return_object() {
            return Steps(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };

    explicit Steps(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Steps& operator=(Steps&&) = delete;
    ~Steps() {
        if (handle_) handle_.destroy();
    }
    void resume() { handle_.resume(); }
    bool done() const { return handle_.done(); }

  private:
    std::coroutine_handle<promise_type> handle_;
};

// Where a program puts its operations. It never refuses one: the buffer grows for a part that
// does not pause for long.
class Out {
  public:
    Out() : ops_(goal + 512), at_(ops_.data()), end_(at_ + ops_.size()), taken_(at_) {}
    Out(const Out&) = delete;
    Out& operator=(const Out&) = delete;

    void reference(Code code, uint64_t address, uint8_t size, uint32_t site, uint8_t flags = 0) {
        put(Op{address, site, code, size, flags, 0});
    }
    void load(uint64_t address, uint8_t size, uint32_t site, uint8_t flags = 0) {
        reference(Code::load, address, size, site, flags);
    }
    void store(uint64_t address, uint8_t size, uint32_t site) {
        reference(Code::store, address, size, site);
    }
    // So many instructions of a class; none leave no trace.
    void count(Code code, uint64_t instructions, uint32_t site, uint8_t flags = 0) {
        if (instructions) put(Op{instructions, site, code, 0, flags, 0});
    }
    // A branch that depends on something.
    void branch(bool taken, uint32_t site) {
        count(taken ? Code::branch_taken : Code::branch_not_taken, 1, site);
    }
    // The end of a loop's body: its index arithmetic, and the branch back if there is more.
    void turn(bool more, uint32_t site, uint64_t integers = 1) {
        count(Code::integer, integers, site);
        branch(more, site);
    }
    void barrier(uint32_t threads, uint64_t name = 1) {
        put(Op{name, threads, Code::barrier, 0, 0, 0});
    }

    // To be awaited in loops: suspends when there is enough for now.
    auto pause() {
        struct Awaiter {
            bool ready;
            bool await_ready() const noexcept { return ready; }
            void await_suspend(std::coroutine_handle<>) const noexcept {}
            void await_resume() const noexcept {}
        };
        return Awaiter{at_ - ops_.data() < static_cast<ptrdiff_t>(goal)};
    }
    // To be awaited: runs another part to its end.
    auto call(Steps part) {
        parts_.push_back(std::move(part));
        return std::suspend_always{};
    }

    void begin(Steps program) { parts_.push_back(std::move(program)); }
    // Runs the program until there is enough; false when it has ended and nothing is left.
    bool advance();
    size_t take(Op* into, size_t room);
    bool ended() const { return parts_.empty() && taken_ == at_; }

  private:
    static constexpr size_t goal = 1024;

    void put(const Op& op) {
        if (at_ == end_) [[unlikely]] grow();
        *at_++ = op;
    }
    void grow();

    // Pointers rather than numbers, which the compiler would have to expect in an operation.
    std::vector<Op> ops_;
    Op* at_;
    Op* end_;
    const Op* taken_;
    std::vector<Steps> parts_;
};

// A program as a feed.
class ProgramFeed : public Feed {
  public:
    Out& out() { return out_; }
    Supply pull(Op* into, size_t room, size_t& given) override;

  private:
    Out out_;
};

// The splitmix64 generator.
class Random {
  public:
    explicit Random(uint64_t state) : state_(state) {}
    // A sequence of its own for each purpose or thread.
    Random(uint64_t seed, uint64_t stream)
        : state_(Random(seed).next() ^ (stream * 0xD1342543DE82EF95u)) {}
    uint64_t next() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    uint64_t below(uint64_t bound) {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    uint64_t state_;
};

// The parameters of a workload, checked, with choices as their numbers; and where its arrays are.
struct Settings {
    std::map<std::string, uint64_t> whole;
    std::map<std::string, double> real;
    std::vector<uint64_t> bases;

    uint64_t operator[](const char* key) const { return whole.at(key); }
    uint32_t threads() const { return static_cast<uint32_t>(whole.at("threads")); }
};

using Feeds = std::vector<std::unique_ptr<Feed>>;

// The part of thread t of `threads` begins here, and ends where that of t + 1 begins.
constexpr uint64_t share(uint64_t count, uint64_t threads, uint64_t thread) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(count) * thread / threads);
}

// One feed a thread, each running `body(out, thread, shape)`.
template <typename Shape>
Feeds feeds_of(uint32_t threads, Steps (*body)(Out&, uint32_t, Shape), const Shape& shape) {
    Feeds feeds;
    for (uint32_t thread = 0; thread < threads; ++thread) {
        auto feed = std::make_unique<ProgramFeed>();
        feed->out().begin(body(feed->out(), thread, shape));
        feeds.push_back(std::move(feed));
    }
    return feeds;
}

enum class Init : uint64_t { none, serial, parallel };

// Elements that are written one after the other.
struct Array {
    uint64_t base;
    uint64_t from;
    uint64_t to;
    uint8_t size;
};
Steps fill(Out& out, Array array, uint32_t site);

// Writes arrays of `count` elements before the work begins, by the first thread or by all.
Steps prepare(Out& out, Init init, uint32_t thread, uint32_t threads, std::vector<uint64_t> bases,
              uint64_t count, uint8_t size, uint32_t site);

// In place, by quicksort with insertion sort for short parts; `base` is the address of keys[0].
Steps quicksort(Out& out, uint32_t* keys, uint64_t base, uint64_t from, uint64_t to,
                uint32_t site);

Feeds strided_sum(const Settings&);
Feeds chase(const Settings&);
Feeds stream(const Settings&);
Feeds random_access(const Settings&);
Feeds zipf(const Settings&);
Feeds false_sharing(const Settings&);
Feeds hot_table(const Settings&);
Feeds relay(const Settings&);
Feeds producer_consumer(const Settings&);
Feeds pyramid(const Settings&);
Feeds ramp_compute(const Settings&);
Feeds matmul(const Settings&);
Feeds matrix_update(const Settings&);
Feeds vector_update(const Settings&);
Feeds fft(const Settings&);
Feeds radix(const Settings&);
Feeds parallel_sort(const Settings&);
Feeds spmv(const Settings&);
// How many elements are not zero, which decides how large the arrays are.
uint64_t spmv_nonzeros(const Settings&);
Feeds bfs(const Settings&);
Feeds assignment(const Settings&);
Feeds string_sort(const Settings&);

}  // namespace gnomon::workload
