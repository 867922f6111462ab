// A software thread: what it still has to execute, where it runs, what it waits for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "machine/counters.hh"
#include "machine/program.hh"
#include "machine/types.hh"

namespace gnomon::machine {

enum class Mode : uint8_t { user, supervisor, hypervisor, size };
constexpr size_t modes = static_cast<size_t>(Mode::size);

enum class TaskState : uint8_t {
    unborn,
    queued,   // could run, but no hardware thread is free
    running,
    barrier,  // from here on it waits: for other threads,
    lock,
    join,
    sleep,  // for a time to come,
    away,   // or for the real program
    ended
};

// Two bits a site, as in the simplest predictors; a site shares its bits with others far away.
class Predictor {
  public:
    Predictor() : states_(sites, 1) {}
    bool predicts_taken(uint32_t site) const { return states_[site % sites] >= 2; }
    // Learns from `count` branches in one direction.
    void learn(uint32_t site, bool taken, uint64_t count) {
        uint8_t& state = states_[site % sites];
        const auto left = static_cast<uint64_t>(taken ? 3 - state : state);
        const auto moved = static_cast<uint8_t>(std::min(left, count));
        state = static_cast<uint8_t>(taken ? state + moved : state - moved);
    }

  private:
    static constexpr size_t sites = 4096;
    std::vector<uint8_t> states_;
};

constexpr uint32_t nowhere = ~uint32_t{0};

struct Task {
    uint32_t id = 0;
    Feed* feed = nullptr;
    std::vector<Op> buffer;
    size_t at = 0;
    size_t filled = 0;
    bool feed_ended = false;

    TaskState state = TaskState::unborn;
    uint64_t object = 0;  // the barrier, lock or thread that it waits for
    Tick ready = 0;       // since when it could run, or when it began to wait
    Tick begin = -1, end = -1;
    uint32_t binding = nowhere;
    uint32_t place = nowhere;  // the hardware thread that it runs on, or ran on last
    Tick slice_end = 0;
    Tick since = 0;  // until when its time is counted

    Mode mode = Mode::user;
    std::array<uint64_t*, modes> rows{};
    Predictor predictor;
    uint64_t code_line = ~uint64_t{0};
    bool fetches = false;  // its operations say themselves what is fetched
    std::vector<uint64_t> functions;
    uint64_t piece = 0;  // instructions left at the speed that was found last
    Tick piece_cost = 0;
    Tick piece_penalty = 0;  // of a branch that is predicted wrongly

    uint64_t& count(LedgerCount name) { return count(name, mode); }
    uint64_t& count(LedgerCount name, Mode in) {
        return rows[static_cast<size_t>(in)][static_cast<size_t>(name)];
    }
};

}  // namespace gnomon::machine
