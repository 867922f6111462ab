#include "stress/bounce.hh"

#include <atomic>
#include <memory>
#include <stdexcept>

#include "stress/threads.hh"

namespace gnomon::stress {

namespace {

// A pause may take a hundred cycles, longer than a line: only who waits long takes one.
constexpr unsigned eager_looks = 2000;

struct Court {
    alignas(128) std::atomic<uint64_t> ball{0};
    alignas(128) std::atomic<bool> over{false};
    std::atomic<int> error{0};
    std::atomic<int> ready{0};
};

bool wait_for(Court& court, uint64_t value) {
    Patience patience;
    for (unsigned looks = 0; court.ball.load(std::memory_order_acquire) != value; ++looks) {
        if (looks < eager_looks) continue;
        if (court.over.load(std::memory_order_relaxed)) return false;
        patience.wait();
    }
    return true;
}

void take_place(Court& court, const Pinned& pinned) {
    if (pinned.error()) court.error = pinned.error();
    ++court.ready;
    Patience patience;
    while (court.ready < 2) patience.wait();
}

}  // namespace

std::vector<double> bounce(int first, int second, unsigned rounds, unsigned samples,
                           double seconds) {
    if (rounds == 0 || samples == 0) throw std::invalid_argument("no rounds or samples");
    const auto court = std::make_unique<Court>();
    std::vector<double> found;
    auto answer = [&] {
        const Pinned pinned(second);
        take_place(*court, pinned);
        for (uint64_t turn = 1; !court->error && wait_for(*court, turn); turn += 2)
            court->ball.store(turn + 1, std::memory_order_release);
    };
    auto serve = [&] {
        const Pinned pinned(first);
        take_place(*court, pinned);
        if (court->error) return;
        const int64_t deadline = now_ns() + static_cast<int64_t>(seconds * 1e9);
        uint64_t turn = 0;
        for (unsigned sample = 0; sample < samples; ++sample) {
            const int64_t begin = now_ns();
            for (unsigned round = 0; round < rounds; ++round, turn += 2) {
                court->ball.store(turn + 1, std::memory_order_release);
                wait_for(*court, turn + 2);
            }
            const int64_t end = now_ns();
            found.push_back(static_cast<double>(end - begin) / (2.0 * rounds));
            if (end >= deadline) break;
        }
        court->over = true;
    };
    Crew(2, [&](size_t index) { index == 0 ? serve() : answer(); }).join();
    if (court->error)
        throw std::system_error(court->error, std::generic_category(), "sched_setaffinity");
    return found;
}

}  // namespace gnomon::stress
