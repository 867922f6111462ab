// A hardware thread of a simple or SMT core in its turn.
//
// Instructions without a reference concern nobody else, so any number of them is executed at
// once. Threads of an SMT core slow each other down: how much is found anew for every piece of
// work of `piece_ticks`, from how many of them run a task at its beginning.
#include "engine/thread.hh"

namespace gnomon::machine {

namespace {
constexpr Tick piece_ticks = 256 * ticks_per_cycle;
}  // namespace

Tick Engine::shared_cost(Task& task, const Op& op, uint32_t running) {
    if (!task.piece) {
        task.piece_cost = slowed(solo_cost(op.code), running);
        task.piece_penalty = spec_.mispredict ? slowed(spec_.mispredict, running) : 0;
        const auto fitting = static_cast<uint64_t>(piece_ticks / task.piece_cost);
        task.piece = std::min(op.value, std::max<uint64_t>(1, fitting));
    }
    return task.piece_cost;
}

template <bool Watched>
inline void Engine::instructions(Task& task, Thread& thread, Op& op, Tick cut) {
    uint64_t most = op.value;
    const bool shares = spec_.pipeline == Pipeline::smt;
    const Tick cost =
        shares ? shared_cost(task, op, cores_[thread.core].running) : solo_cost(op.code);
    if (shares) most = std::min(most, task.piece);
    // What begins before the cut is done.
    const Tick room = cut > thread.time ? (cut - thread.time - 1) / cost + 1 : 1;
    most = std::min(most, static_cast<uint64_t>(room));
    const uint64_t done = execute<Watched>(task, thread, op, most, cost);
    if (shares) task.piece -= done;
    op.value -= done;
    if (!op.value) ++task.at;
}

template <bool Watched>
void Engine::run_thread(uint32_t hardware, Tick end, Tick cut) {
    Thread& thread = system_.thread(hardware);
    Task& task = *hardware_[hardware].task;
    while (thread.time < end) {
        if (task.at == task.filled && !refill(task)) {
            if (task.feed_ended)
                end_task(task, thread);
            else
                starved_ = &task;
            return;
        }
        Op& op = task.buffer[task.at];
        if (op.code > Code::other) {
            ++task.at;
            if (control(task, thread, op) == Step::gone) return;
            continue;
        }
        if (op.code == Code::fetch) {
            ++task.at;
            fetch<Watched>(task, thread, op);
            continue;
        }
        if (op.site) {
            follow_code<Watched>(task, thread, op);
            if (thread.time >= end) return;
        }
        if (op.code <= Code::atomic) {
            ++task.at;
            reference<Watched>(task, thread, op);
        } else if (op.value == 0) {
            ++task.at;
        } else if (op.flags & traps && spec_.trap_instructions) {
            expand_trap(task);
        } else {
            instructions<Watched>(task, thread, op, cut);
        }
    }
}

template void Engine::run_thread<false>(uint32_t hardware, Tick end, Tick cut);
template void Engine::run_thread<true>(uint32_t hardware, Tick end, Tick cut);

}  // namespace gnomon::machine
