#include "stress/chase.hh"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "stress/threads.hh"

namespace gnomon::stress {

namespace {

// Splitmix64: a few operations, the same numbers everywhere.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t below(uint64_t end) {
        state_ += 0x9e3779b97f4a7c15;
        uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        z ^= z >> 31;
        return (z >> 32) * end >> 32;
    }

    void shuffle(std::vector<uint32_t>& values) {
        for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
    }

private:
    uint64_t state_;
};

std::vector<uint32_t> counted(size_t count) {
    std::vector<uint32_t> values(count);
    std::iota(values.begin(), values.end(), 0U);
    return values;
}

inline std::byte* next(std::byte* at) {
    std::byte* target;
    std::memcpy(&target, at, sizeof target);
    return target;
}

// Time on a CPU, of this thread alone: that another program had its turn is no latency.
int64_t running_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

constexpr uint64_t loads_at_once = 8192;  // between looks at the clock
constexpr int unrolled = 32;

std::byte* follow(std::byte* at, uint64_t loads) {
    for (uint64_t i = 0; i < loads; i += unrolled) {
#pragma GCC unroll 32
        for (int k = 0; k < unrolled; ++k) at = next(at);
    }
    return at;
}

}  // namespace

std::byte* link_chase(std::byte* base, const Route& route) {
    if (route.lines < 1 || route.lines > UINT32_MAX || route.group < 1 || route.colours < 1 ||
        route.line_bytes < sizeof(void*))
        throw std::invalid_argument("a route needs lines, groups and colours");
    Random random(route.seed);
    std::vector<uint32_t> colours = counted(route.colours), members;
    random.shuffle(colours);
    std::vector<uint32_t> groups = counted((route.lines + route.group - 1) / route.group);
    std::byte *first = nullptr, *last = nullptr;
    for (uint32_t colour : colours) {
        random.shuffle(groups);
        for (uint32_t group : groups) {
            const size_t begin = group * route.group;
            const size_t end = std::min(begin + route.group, route.lines);
            members.clear();
            for (size_t line = begin + colour; line < end; line += route.colours)
                members.push_back(static_cast<uint32_t>(line));
            random.shuffle(members);
            for (uint32_t line : members) {
                std::byte* at = base + line * route.line_bytes;
                if (last)
                    std::memcpy(last, &at, sizeof at);
                else
                    first = at;
                last = at;
            }
        }
    }
    std::memcpy(last, &first, sizeof first);
    return first;
}

Chased chase(std::byte* start, uint64_t loads, const Limits& limits, int cpu) {
    const Pinned pinned(cpu);
    pinned.check();
    Chased chased{start, 0, 0};
    const int64_t begin = now_ns(), begin_running = running_ns();
    int64_t passed;
    do {
        chased.at = follow(chased.at, loads_at_once);
        chased.loads += loads_at_once;
        passed = now_ns() - begin;
    } while (passed < limits.least_ns || (chased.loads < loads && passed < limits.most_ns));
    const int64_t ran = running_ns() - begin_running;
    passed = now_ns() - begin;
    // Where the scheduler's clock only ticks, as in some virtual machines, a short time is
    // nothing or more than has passed.
    chased.ns = ran > 0 && ran <= passed ? ran : passed;
    return chased;
}

Loaded chase_loaded(std::byte* start, uint64_t loads, const Limits& limits, int cpu, Stream stream,
                    const std::string& width, const std::vector<Lane>& lanes, double duty,
                    size_t block) {
    constexpr int64_t ramp_ns = 5'000'000;
    constexpr double forever = 3600, one_block = 1e-9;  // s
    std::atomic<bool> stop{false};
    std::atomic<size_t> begun{0};
    std::atomic<int> error{0};
    Loaded loaded{{}, std::vector<Moved>(lanes.size())};
    Crew crew(lanes.size(), [&](size_t index) {
        bool has_begun = false;
        try {
            // A thread that has not run yet is no load: it moves a block before it counts.
            run_load(stream, width, lanes[index], one_block, 1, block, &stop);
            has_begun = ++begun;
            loaded.moved[index] =
                run_load(stream, width, lanes[index], forever, duty, block, &stop);
        } catch (const std::system_error& failure) {
            error = failure.code().value();
            if (!has_begun) ++begun;
        }
    });
    Patience patience;
    while (begun < lanes.size()) patience.wait();
    const timespec ramp{0, ramp_ns};
    if (!lanes.empty()) clock_nanosleep(CLOCK_MONOTONIC, 0, &ramp, nullptr);
    try {
        loaded.chased = chase(start, loads, limits, cpu);
    } catch (const std::system_error& failure) {
        error = failure.code().value();
    }
    stop = true;
    crew.join();
    if (error) throw std::system_error(error, std::generic_category(), "sched_setaffinity");
    return loaded;
}

double core_clock(double seconds, int cpu) {
    const Pinned pinned(cpu);
    pinned.check();
    constexpr int additions = 64, loops = 512;
    const int64_t begin = now_ns(), deadline = begin + static_cast<int64_t>(seconds * 1e9);
    double best = 0;
    uint64_t value = 0;
    for (int64_t now = begin; now < deadline;) {
        for (int i = 0; i < loops; ++i) {
#pragma GCC unroll 64
            for (int k = 0; k < additions; ++k) {
                value += 1;
                asm volatile("" : "+r"(value));  // one addition each, not their sum
            }
        }
        const int64_t after = now_ns();
        best = std::max(best, additions * loops / static_cast<double>(after - now));
        now = after;
    }
    return best;
}

}  // namespace gnomon::stress
