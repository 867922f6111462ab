// Elapsed time divided among what ran and what everything waited for: see
// docs/explanation/time-account.md. tests/analysis/time/twin.py is the same in plain Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::account {

// What a thread did in a slice of its life.
enum class State : uint8_t { running, ready, waiting, spinning, held };  // held: before its exec
constexpr uint8_t last_state = static_cast<uint8_t>(State::held);

// What ends a wait.
enum class Ender : uint8_t { unknown, timer, outside, inside };
constexpr uint8_t last_ender = static_cast<uint8_t>(Ender::inside);

// What a wait says about who runs meanwhile, in its process; join: about one thread.
enum class Relation : uint8_t { none, lock, gil, barrier, join };
constexpr uint8_t last_relation = static_cast<uint8_t>(Relation::join);

// What the others of the process waited for while a thread ran. `nobody` is a thread that was
// ready while nothing ran; `spinners`: because spinning threads of the program had the CPUs.
enum class Meanwhile : uint8_t { nothing, lock, gil, barrier, spin, join, nobody, spinners };

// Slices by thread and, in each thread, by time; neighbours of a thread may touch.
struct Slices {
    const int32_t* thread;
    const int64_t *begin, *end;
    const uint8_t *state, *ender, *relation;
    const int32_t* target;  // thread that is joined, or -1
    size_t count;
    const int32_t* process;  // of each thread
    size_t threads, processes;
};

struct Span {
    int64_t start, end, exec;  // before `exec`, a gap belongs to the start of the program
    double cpus;
};

// Elapsed time of one slice that ran or was ready, in ns. `lost` passed without a CPU.
struct Piece {
    int32_t slice;
    Meanwhile meanwhile;
    double amount, lost;
};

// Nothing ran: the time belongs to this slice; -1: to the start and the end of the program.
struct Gap {
    int64_t begin, end;
    int32_t slice;
    bool woken;  // the thread was woken by one of the program, or had spun, and nobody covers it
};

// From here on so many threads; elapsed time per time of each that runs, and what is lost beside.
struct Step {
    int64_t time;
    int32_t running, spinning, ready;
    double rate, lost;
};

struct Division {
    std::vector<Piece> pieces;
    std::vector<Gap> gaps;
    std::vector<Step> steps;
    int64_t full = 0;  // ns in which all CPUs computed and more threads were ready
};

// Raises std::invalid_argument where slices are out of order, overlap, or name what is not there.
void check(const Slices&, const Span&);
Division divide(const Slices&, const Span&);

}  // namespace gnomon::account
