// A core whose strands share pipelines, cycle by cycle, as on the Niagara 2.
//
// In a cycle each group of strands may issue one instruction: that of the strand that issued
// longest ago (of equal ones the lowest) among those that can. A load, store or atomic needs
// the core's load-store unit, floating point its floating-point unit; of groups that want the
// same unit in a cycle the one that used it longest ago gets it, and the others issue nothing.
// A strand goes on when its instruction is done; units are pipelined, so others need not wait.
#include <bit>

#include "machine_engine_thread.hh"

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
    return std::max(core.next, (first + ticks_per_cycle - 1) / ticks_per_cycle);
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

uint32_t Engine::choose_strand(const CoreState& core, uint32_t group, uint64_t ready) const {
    uint32_t chosen = nowhere;
    for (uint64_t rest = ready; rest; rest &= rest - 1) {
        const uint32_t id = core.first + static_cast<uint32_t>(std::countr_zero(rest));
        if (hardware_[id].group != group) continue;
        if (chosen == nowhere || strands_[id].issued < strands_[chosen].issued) chosen = id;
    }
    return chosen;
}

// A run of instructions at once, while one strand can issue and no other one comes up: nobody
// competes with it. Whether there was such a run.
template <bool Watched>
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
    const uint64_t done = execute<Watched>(
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
// no other one comes up: each group serves its strands in turn. Returns how many cycles.
int64_t Engine::issue_rounds(CoreState& core, int64_t cycle, uint64_t ready, Tick end) {
    int64_t cycles = (std::min(end, next_noise_) - 1) / ticks_per_cycle + 1 - cycle;
    std::array<int64_t, most_groups> size{}, least{};
    least.fill(never);
    for (uint32_t i = 0; i < core.threads; ++i) {
        const uint32_t id = core.first + i;
        const Task* task = hardware_[id].task;
        if (!task) continue;
        if (!(ready >> i & 1)) {
            const Tick time = system_.thread(id).time;
            cycles = std::min(cycles, (time + ticks_per_cycle - 1) / ticks_per_cycle - cycle);
            continue;
        }
        const Op& op = task->buffer[task->at];
        const bool plain = op.code == Code::integer || op.code == Code::special ||
                           op.code == Code::other;
        if (!plain || solo_cost(op.code) > ticks_per_cycle) return 0;
        cycles = std::min(cycles, (task->slice_end - 1) / ticks_per_cycle + 1 - cycle);
        const uint32_t group = hardware_[id].group;
        size[group] += 1;
        least[group] = std::min(least[group], static_cast<int64_t>(
                                                  std::min<uint64_t>(op.value, 1u << 30)));
    }
    // A strand must not run out of its work in the middle of a round.
    for (size_t group = 0; group < spec_.groups; ++group)
        if (size[group]) cycles = std::min(cycles, size[group] * (least[group] - 1));
    if (cycles <= core.threads) return 0;
    for (uint32_t group = 0; group < spec_.groups; ++group) {
        uint64_t left = ready;
        for (int64_t rank = 0; rank < size[group]; ++rank) {
            const uint32_t id = choose_strand(core, group, left);
            left &= ~(uint64_t{1} << (id - core.first));
            const int64_t issued = (cycles - rank - 1) / size[group] + 1;
            Task& task = *hardware_[id].task;
            Op& op = task.buffer[task.at];
            execute<false>(task, system_.thread(id), op, static_cast<uint64_t>(issued), 0);
            op.value -= static_cast<uint64_t>(issued);
            strands_[id].issued = cycle + rank + (issued - 1) * size[group];
            system_.thread(id).time = (strands_[id].issued + 1) * ticks_per_cycle;
        }
    }
    return cycles;
}

template <bool Watched>
void Engine::run_core(uint32_t number, Tick end) {
    CoreState& core = cores_[number];
    const uint64_t changes = changes_;
    // What others were woken for may come before the next cycle of this core.
    while (changes == changes_) {
        const int64_t cycle = next_cycle(core);
        if (cycle < 0 || cycle * ticks_per_cycle >= end) return;
        core.next = cycle;
        uint64_t ready = 0;
        for (uint64_t before = ~uint64_t{0}; before != changes_;) {
            before = changes_;
            ready = 0;
            for (uint32_t i = 0; i < core.threads; ++i) {
                ready |= uint64_t{prepare<Watched>(core.first + i, cycle)} << i;
                if (starved_) return;
            }
        }
        if (!ready) continue;
        if (issue_alone<Watched>(core, cycle, ready, end)) continue;
        if constexpr (!Watched) {
            if (const int64_t cycles = issue_rounds(core, cycle, ready, end)) {
                core.busy += cycles;
                core.next = cycle + cycles;
                continue;
            }
        }
        core.busy += 1;
        core.next = cycle + 1;
        std::array<uint32_t, most_groups> chosen{};
        std::array<uint32_t, units> winner;
        winner.fill(nowhere);
        for (uint32_t group = 0; group < spec_.groups; ++group) {
            chosen[group] = choose_strand(core, group, ready);
            if (chosen[group] == nowhere) continue;
            const Task& task = *hardware_[chosen[group]].task;
            const auto unit = static_cast<size_t>(unit_of(task.buffer[task.at].code));
            if (unit == units) continue;
            auto& used = core.used[unit];
            uint32_t& best = winner[unit];
            if (best == nowhere) {
                best = group;
            } else if (used[group] < used[best]) {
                chosen[best] = nowhere;
                best = group;
            } else {
                chosen[group] = nowhere;
            }
        }
        for (size_t unit = 0; unit < units; ++unit)
            if (winner[unit] != nowhere) core.used[unit][winner[unit]] = cycle;
        for (uint32_t group = 0; group < spec_.groups; ++group)
            if (chosen[group] != nowhere) issue<Watched>(chosen[group], cycle);
    }
}

template void Engine::run_core<false>(uint32_t core, Tick end);
template void Engine::run_core<true>(uint32_t core, Tick end);

}  // namespace gnomon::machine
