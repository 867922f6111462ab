#include "stress/team.hh"

#include <algorithm>
#include <stdexcept>

#include "stress/threads.hh"

namespace gnomon::stress {

namespace {

// Shorter idleness is spent spinning: the kernel's timers are not finer.
constexpr int64_t worth_sleeping_ns = 100'000;

void idle_until(int64_t until, int64_t now) {
    if (until - now > worth_sleeping_ns) {
        const timespec at{static_cast<time_t>(until / 1'000'000'000),
                          static_cast<long>(until % 1'000'000'000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
        return;
    }
    while (now_ns() < until) relax();
}

}  // namespace

std::vector<Round> run_rounds(Stream stream, const std::string& width,
                              const std::vector<Lane>& lanes, unsigned rounds, unsigned repeats,
                              double seconds) {
    if (lanes.empty() || rounds == 0 || repeats == 0)
        throw std::invalid_argument("no lanes, rounds or repeats");
    const Loop loop = loop_of(stream, width);
    const auto count = static_cast<unsigned>(lanes.size());
    Barrier barrier(count);
    std::vector<Round> found(size_t{rounds} * count);
    std::atomic<bool> stop{false};
    std::atomic<unsigned> done{0};
    std::atomic<int> pin_error{0};
    std::atomic<double> sums{0};  // what was read must be used, or it need not be read
    int64_t deadline = 0;
    auto work = [&](size_t index) {
        const Lane& lane = lanes[index];
        const Pinned pinned(lane.cpu);
        if (pinned.error()) pin_error = pinned.error();
        barrier.arrive();
        if (pin_error) return;
        if (index == 0) deadline = now_ns() + static_cast<int64_t>(seconds * 1e9);
        double sum = 0;
        for (unsigned round = 0; round < rounds; ++round) {
            if (index == 0 && round > 0 && now_ns() >= deadline) stop = true;
            barrier.arrive();
            if (stop) break;
            Round& times = found[size_t{round} * count + index];
            times.begin = now_ns();
            for (unsigned i = 0; i < repeats; ++i)
                sum += loop(lane.a, lane.b, lane.c, lane.count);
            times.end = now_ns();
            if (index == 0) done = round + 1;
            // Nobody may see `stop` before all have passed the barrier that it belongs to.
            barrier.arrive();
        }
        sums = sum;
    };
    Crew(count, work).join();
    if (pin_error) throw std::system_error(pin_error, std::generic_category(), "sched_setaffinity");
    found.resize(size_t{done} * count);
    return found;
}

Moved run_load(Stream stream, const std::string& width, const Lane& lane, double seconds,
               double duty, size_t block, const std::atomic<bool>* stop) {
    if (!(duty > 0 && duty <= 1) || block == 0 || lane.count == 0)
        throw std::invalid_argument("a duty is more than 0 and at most 1, a block not empty");
    const Loop loop = loop_of(stream, width);
    const Pinned pinned(lane.cpu);
    pinned.check();
    Moved moved;
    const int64_t begin = now_ns(), deadline = begin + static_cast<int64_t>(seconds * 1e9);
    int64_t now = begin, debt = 0;
    for (size_t at = 0; now < deadline && !(stop && stop->load(std::memory_order_relaxed));) {
        const size_t length = std::min(block, lane.count - at);
        const size_t offset = at;
        moved.sum += loop(lane.a ? lane.a + offset : nullptr, lane.b + offset,
                          lane.c ? lane.c + offset : nullptr, length);
        moved.elements += length;
        at = at + length == lane.count ? 0 : at + length;
        const int64_t after = now_ns();
        if (duty < 1) {
            // Idleness that came out too long or too short is made up for next time.
            debt += static_cast<int64_t>(static_cast<double>(after - now) * (1 / duty - 1));
            if (debt > 0) idle_until(std::min(after + debt, deadline), after);
            now = now_ns();
            debt -= now - after;
        } else {
            now = after;
        }
    }
    moved.ns = now - begin;
    return moved;
}

}  // namespace gnomon::stress
