// How operations are executed, to be inlined into the loops of threads and strands.
#pragma once

#include "engine/engine.hh"
#include "machine/step.hh"

namespace gnomon::machine {

// Tells those who watch what has just been executed: `count` instructions, or a reference.
template <bool Watched>
inline void Engine::observe(Task& task, Thread& thread, const Op& op, uint64_t count,
                            const Access* found) {
    if constexpr (Watched) {
        if (watches_.counts_time()) account(task, thread.time);
        Sample shown;
        shown.time = thread.time;
        shown.task = task.id;
        shown.hardware = thread.id;
        shown.site = op.site;
        shown.function = task.functions.empty() ? 0 : task.functions.back();
        shown.mode = static_cast<uint8_t>(task.mode);
        if (found) {
            shown.address = op.value;
            shown.latency = found->latency;
            shown.node = found->node;
            shown.place = static_cast<uint8_t>(found->place);
            if (op.code == Code::load) watches_.loaded(task, shown);
        }
        watches_.executed(task, count, shown);
    } else {
        (void)task, (void)thread, (void)op, (void)count, (void)found;
    }
}

template <bool Watched>
inline void Engine::reference(Task& task, Thread& thread, const Op& op) {
    const Kind kind = op.code == Code::load ? Kind::load : Kind::store;
    const bool atomic = op.code == Code::atomic;
    const bool dependent = (op.flags & waits) || atomic;
    const Tick start = thread.time;
    Access found;
    thread.bytes = op.size;
    if ((op.value & (data_line_ - 1)) + op.size > data_line_) [[unlikely]] {
        found = system_.access_lines(thread, op.value, op.size, kind, dependent);
        task.count(LedgerCount::split_references) += 1;
    } else {
        found = system_.step(thread, op.value, kind, dependent);
    }
    if (atomic) {
        task.count(LedgerCount::stores) -= 1;
        task.count(LedgerCount::atomics) += 1;
        task.count(LedgerCount::atomic_ticks) += static_cast<uint64_t>(thread.time - start);
    }
    if (found.latency > data_latency_) {
        const Tick stalled = thread.time - start - thread.issue;
        if (stalled > 0) task.count(LedgerCount::stall_ticks) += static_cast<uint64_t>(stalled);
    }
    const bool more = op.flags & continued;  // of the instruction before
    if (more) task.count(LedgerCount::continued_references) += 1;
    observe<Watched>(task, thread, op, !more, &found);
}

template <bool Watched>
inline void Engine::fetch(Task& task, Thread& thread, const Op& op) {
    task.fetches = true;
    system_.fetch_ahead(thread, op.value, op.size);
    observe<Watched>(task, thread, op, 0, nullptr);
}

// Executes up to `most` instructions of an operation: one where something happens, else all.
template <bool Watched>
inline uint64_t Engine::execute(Task& task, Thread& thread, const Op& op, uint64_t most,
                                Tick cost) {
    uint64_t& counted = class_count(task, op.code);
    if constexpr (Watched) {
        const auto name =
            static_cast<size_t>(&counted - task.rows[static_cast<size_t>(task.mode)]);
        most = std::min(most, watches_.until_due(task, name, cost));
    }
    if (op.code == Code::branch_taken || op.code == Code::branch_not_taken) {
        const bool taken = op.code == Code::branch_taken;
        if (task.predictor.predicts_taken(op.site) != taken) {
            most = 1;
            task.count(LedgerCount::branch_mispredicts) += 1;
            const bool shares = spec_.pipeline == Pipeline::smt;
            thread.time += shares ? task.piece_penalty : spec_.mispredict;
        }
        task.predictor.learn(op.site, taken, most);
    }
    counted += most;
    thread.time += static_cast<Tick>(most) * cost;
    observe<Watched>(task, thread, op, most, nullptr);
    return most;
}

}  // namespace gnomon::machine
