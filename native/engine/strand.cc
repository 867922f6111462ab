// A core whose strands share pipelines, cycle by cycle, as on the Niagara 2.
//
// In a cycle each group of strands may issue one instruction: that of the strand that issued
// longest ago (of equal ones the lowest) among those that can. A load, store or atomic needs
// the core's load-store unit, floating point its floating-point unit; of groups that want the
// same unit in a cycle the one that used it longest ago gets it, and the others issue nothing.
// A strand goes on when its instruction is done; units are pipelined, so others need not wait.
#include <bit>

#include "engine/thread.hh"

namespace gnomon::machine {

Engine::Unit Engine::unit_of(Code code) const {
    switch (code) {
        case Code::load:
        case Code::store:
        case Code::atomic: return Unit::lsu;
        case Code::fp_add:
        case Code::fp_multiply:
        case Code::fp_divide: return Unit::fgu;
        default: return Unit::none;
    }
}

// The first cycle in which a strand has something to do, -1 when none has.
int64_t Engine::next_cycle(const CoreState& core) const {
    Tick first = never;
    for (uint32_t id = core.first; id < core.first + core.threads; ++id)
        if (hardware_[id].task) first = std::min(first, system_.thread(id).time);
    if (first == never) return -1;
    return std::max(core.next, cycles_before(first));
}

// Executes what is no instruction; whether the strand could then issue one in this cycle.
template <bool Watched>
bool Engine::prepare(uint32_t hardware, int64_t cycle) {
    Thread& thread = system_.thread(hardware);
    Strand& strand = strands_[hardware];
    const Tick now = cycle * ticks_per_cycle;
    while (Task* task = hardware_[hardware].task) {
        if (thread.time > now) return false;
        thread.time = now;
        if (now >= task->slice_end && end_slice(hardware)) continue;
        if (strand.prepared) return true;
        if (task->at == task->filled && !refill(*task)) {
            if (!task->feed_ended) {
                starved_ = task;
                return false;
            }
            end_task(*task, thread);
            continue;
        }
        const Op& op = task->buffer[task->at];
        if (op.code > Code::other) {
            ++task->at;
            control(*task, thread, op);
        } else if (op.code == Code::fetch) {
            ++task->at;
            fetch<Watched>(*task, thread, op);
        } else if (op.code > Code::atomic && op.value == 0) {
            ++task->at;
        } else if (op.flags & traps && spec_.trap_instructions && op.code > Code::atomic) {
            expand_trap(*task);
        } else {
            if (op.site) follow_code<Watched>(*task, thread, op);
            strand.prepared = true;
        }
    }
    return false;
}

template <bool Watched>
void Engine::issue(uint32_t hardware, int64_t cycle) {
    Thread& thread = system_.thread(hardware);
    Task& task = *hardware_[hardware].task;
    Strand& strand = strands_[hardware];
    Op& op = task.buffer[task.at];
    strand.issued = cycle;
    strand.prepared = false;
    if (op.code <= Code::atomic) {
        ++task.at;
        reference<Watched>(task, thread, op);
    } else {
        execute<Watched>(task, thread, op, 1, solo_cost(op.code));
        strand.prepared = --op.value > 0;
        if (!strand.prepared) ++task.at;
    }
    thread.time = std::max(thread.time, (cycle + 1) * ticks_per_cycle);
}

// Of the strands of a core that can issue and are in a group, who issued longest ago.
uint32_t Engine::choose_strand(const CoreState& core, uint32_t group, uint64_t ready) const {
    const uint32_t size = core.threads / spec_.groups;
    const uint64_t members = ((uint64_t{1} << size) - 1) << (group * size);
    uint32_t chosen = nowhere;
    for (uint64_t rest = ready & members; rest; rest &= rest - 1) {
        const uint32_t id = core.first + static_cast<uint32_t>(std::countr_zero(rest));
        if (chosen == nowhere || strands_[id].issued < strands_[chosen].issued) chosen = id;
    }
    return chosen;
}

// A run of instructions at once, while one strand can issue and no other one comes up: nobody
// competes with it. Whether there was such a run.
bool Engine::issue_alone(CoreState& core, int64_t cycle, uint64_t ready, Tick end) {
    if (!std::has_single_bit(ready)) return false;
    const uint32_t id = core.first + static_cast<uint32_t>(std::countr_zero(ready));
    Task& task = *hardware_[id].task;
    Op& op = task.buffer[task.at];
    if (op.code <= Code::atomic || op.value < 2) return false;
    const Tick cost = solo_cost(op.code);
    if (cost <= 0 || cost % ticks_per_cycle) return false;
    Tick limit = std::min({end, next_noise_, task.slice_end});
    for (uint32_t other = core.first; other < core.first + core.threads; ++other)
        if (other != id && hardware_[other].task)
            limit = std::min(limit, system_.thread(other).time);
    const Tick left = limit - 1 - cycle * ticks_per_cycle;
    if (left < cost) return false;
    Thread& thread = system_.thread(id);
    const uint64_t done = execute<false>(
        task, thread, op, std::min(op.value, static_cast<uint64_t>(left / cost) + 1), cost);
    const int64_t last = cycle + static_cast<int64_t>(done - 1) * (cost / ticks_per_cycle);
    op.value -= done;
    strands_[id].issued = last;
    strands_[id].prepared = op.value > 0;
    if (!op.value) ++task.at;
    const auto unit = static_cast<size_t>(unit_of(op.code));
    if (unit != units) core.used[unit][hardware_[id].group] = last;
    core.busy += static_cast<int64_t>(done);
    core.next = last + 1;
    return true;
}

// Many cycles at once, while all strands that can issue have integer work of a cycle each and
// no other one comes up: each group serves its strands in turn. False when that is not so.
//
// This may go beyond the turn of the core, as it concerns no other core; should one wake a
// strand of this core meanwhile, `rewind` takes back what would come later.
bool Engine::issue_rounds(CoreState& core, int64_t cycle, uint64_t ready, Tick cut) {
    for (uint64_t rest = ready; rest; rest &= rest - 1) {
        const uint32_t id = core.first + static_cast<uint32_t>(std::countr_zero(rest));
        const Task& task = *hardware_[id].task;
        const Op& op = task.buffer[task.at];
        const bool plain = op.code == Code::integer || op.code == Code::special ||
                           op.code == Code::other;
        if (!plain || op.value < 3 || solo_cost(op.code) > ticks_per_cycle) return false;
    }
    Rounds rounds;
    rounds.first = cycle;
    int64_t cycles = cycles_before(cut) - cycle;
    std::array<int64_t, most_groups> least;
    least.fill(never);
    for (uint32_t i = 0; i < core.threads; ++i) {
        const uint32_t id = core.first + i;
        const Task* task = hardware_[id].task;
        if (!task) continue;
        if (!(ready >> i & 1)) {
            cycles = std::min(cycles, cycles_before(system_.thread(id).time) - cycle);
            continue;
        }
        cycles = std::min(cycles, cycles_before(task->slice_end) - cycle);
        const uint32_t group = hardware_[id].group;
        rounds.size[group] += 1;
        const uint64_t work = task->buffer[task->at].value;
        const auto left = static_cast<int64_t>(std::min<uint64_t>(work, 1u << 30));
        least[group] = std::min(least[group], left);
    }
    // A strand must not run out of its work in the middle of a round.
    for (size_t group = 0; group < spec_.groups; ++group)
        if (rounds.size[group])
            cycles = std::min(cycles, rounds.size[group] * (least[group] - 1));
    if (cycles <= core.threads) return false;
    for (uint32_t group = 0; group < spec_.groups; ++group) {
        uint64_t left = ready;
        for (uint32_t rank = 0; rank < rounds.size[group]; ++rank) {
            const uint32_t id = choose_strand(core, group, left);
            left &= ~(uint64_t{1} << (id - core.first));
            rounds.rank[id - core.first] = rank;
            rounds.issued[id - core.first] = strands_[id].issued;
        }
    }
    rounds.ready = ready;
    core.rounds = rounds;
    set_rounds(core, cycles);
    return true;
}

// Makes the rounds of a core take so many cycles, whatever they took before.
void Engine::set_rounds(CoreState& core, int64_t cycles) {
    Rounds& rounds = core.rounds;
    for (uint64_t rest = rounds.ready; rest; rest &= rest - 1) {
        const auto i = static_cast<uint32_t>(std::countr_zero(rest));
        const uint32_t id = core.first + i;
        const int64_t size = rounds.size[hardware_[id].group], rank = rounds.rank[i];
        auto share = [&](int64_t of) { return (of - rank + size - 1) / size; };
        const int64_t issued = share(cycles);
        const auto more = static_cast<uint64_t>(issued - share(rounds.cycles));
        Task& task = *hardware_[id].task;
        Op& op = task.buffer[task.at];
        class_count(task, op.code) += more;
        op.value -= more;
        strands_[id].issued =
            issued ? rounds.first + rank + (issued - 1) * size : rounds.issued[i];
        system_.thread(id).time =
            (issued ? strands_[id].issued + 1 : rounds.first) * ticks_per_cycle;
    }
    core.busy += cycles - rounds.cycles;
    core.next = rounds.first + cycles;
    rounds.cycles = cycles;
}

// Takes back what a core did ahead of its turn, because a strand comes up at `now`.
void Engine::rewind(CoreState& core, Tick now) {
    const int64_t cycle = std::max(core.rounds.first, cycles_before(now));
    if (core.rounds.first + core.rounds.cycles != core.next || cycle >= core.next) return;
    set_rounds(core, cycle - core.rounds.first);
}

// The strands, as bits, that could issue in a cycle; all that is no instruction is done then.
template <bool Watched>
uint64_t Engine::prepare_all(const CoreState& core, int64_t cycle) {
    const Tick now = cycle * ticks_per_cycle;
    for (;;) {
        const uint64_t before = changes_;
        uint64_t ready = 0;
        for (uint32_t i = 0; i < core.threads; ++i) {
            const uint32_t id = core.first + i;
            const Task* task = hardware_[id].task;
            if (!task || system_.thread(id).time > now) continue;
            const bool known = strands_[id].prepared && now < task->slice_end;
            if (known) system_.thread(id).time = now;
            ready |= uint64_t{known || prepare<Watched>(id, cycle)} << i;
        }
        if (starved_ || before == changes_) return ready;
    }
}

// Who issues in a cycle: one strand a group, if the unit that it needs is given to the group.
void Engine::arbitrate(CoreState& core, int64_t cycle, uint64_t ready, Chosen& chosen) {
    std::array<uint32_t, units> winner;
    winner.fill(nowhere);
    for (uint32_t group = 0; group < spec_.groups; ++group) {
        chosen[group] = choose_strand(core, group, ready);
        if (chosen[group] == nowhere) continue;
        const Task& task = *hardware_[chosen[group]].task;
        const auto unit = static_cast<size_t>(unit_of(task.buffer[task.at].code));
        if (unit == units) continue;
        uint32_t& best = winner[unit];
        if (best == nowhere) {
            best = group;
        } else if (core.used[unit][group] < core.used[unit][best]) {
            chosen[best] = nowhere;
            best = group;
        } else {
            chosen[group] = nowhere;
        }
    }
    for (size_t unit = 0; unit < units; ++unit)
        if (winner[unit] != nowhere) core.used[unit][winner[unit]] = cycle;
}

template <bool Watched>
void Engine::run_core(uint32_t number, Tick end, Tick cut) {
    CoreState& core = cores_[number];
    const uint64_t changes = changes_;
    int64_t cycle = turns_.first().time / ticks_per_cycle;
    // What others were woken for may come before the next cycle of this core.
    for (bool alone = true; alone && cycle >= 0 && cycle * ticks_per_cycle < end;
         alone = changes == changes_, cycle = next_cycle(core)) {
        core.next = cycle;
        core.rounds.cycles = 0;
        const uint64_t ready = prepare_all<Watched>(core, cycle);
        if (starved_) break;
        if (!ready) continue;
        // Samples tell the cycle of each instruction, so they are had one by one; and whoever was
        // woken just now may act before `end`, which knows nothing of it.
        if (!Watched && changes == changes_ &&
            (issue_alone(core, cycle, ready, end) || issue_rounds(core, cycle, ready, cut)))
            continue;
        core.busy += 1;
        core.next = cycle + 1;
        Chosen chosen;
        arbitrate(core, cycle, ready, chosen);
        for (uint32_t group = 0; group < spec_.groups; ++group)
            if (chosen[group] != nowhere) issue<Watched>(chosen[group], cycle);
    }
    act_at(number, cycle < 0 ? never : cycle * ticks_per_cycle);
}

template void Engine::run_core<false>(uint32_t core, Tick end, Tick cut);
template void Engine::run_core<true>(uint32_t core, Tick end, Tick cut);

}  // namespace gnomon::machine
