#include "engine/engine.hh"

#include <bit>
#include <chrono>

namespace gnomon::machine {

namespace {
constexpr size_t chunk = 4096;  // operations that are pulled at once
constexpr uint32_t turns_between_looks = 256;
constexpr int longest_wait = 20;  // milliseconds
}  // namespace

Engine::Engine(System& system, const EngineSpec& spec, const std::vector<Feed*>& feeds,
               const std::vector<uint32_t>& binding)
    : system_(system),
      spec_(spec),
      tasks_(feeds.size()),
      cells_(feeds.size() * modes * static_cast<size_t>(LedgerCount::size), 0),
      hardware_(system.spec().thread_core.size()),
      cores_(system.spec().core_node.size()),
      strands_(hardware_.size()),
      node_running_(system.spec().nodes.size(), 0),
      group_running_(cores_.size() * most_groups, 0),
      turns_(std::max(hardware_.size(), cores_.size())),
      noise_random_(spec.seed * 31 + 17) {
    const SystemSpec& machine = system.spec();
    code_shift_ = static_cast<uint32_t>(std::countr_zero(
        (machine.split ? machine.instruction : machine.data.front()).line_bytes));
    data_line_ = machine.data.front().line_bytes;
    data_latency_ = machine.data.front().latency;
    for (CoreState& core : cores_)
        for (auto& unit : core.used) unit.fill(-1);
    for (uint32_t id = 0; id < hardware_.size(); ++id) {
        Hardware& place = hardware_[id];
        place.core = machine.thread_core[id];
        place.node = machine.core_node[place.core];
        CoreState& core = cores_[place.core];
        if (core.threads++ == 0) core.first = id;
    }
    for (uint32_t id = 0; id < hardware_.size(); ++id) {
        const CoreState& core = cores_[hardware_[id].core];
        hardware_[id].group = (id - core.first) * spec_.groups / core.threads;
    }
    if (spec_.noise_period) next_noise_ = draw_noise();
    for (uint32_t id = 0; id < tasks_.size(); ++id) {
        Task& task = tasks_[id];
        task.id = id;
        task.feed = feeds[id];
        task.buffer.resize(chunk);
        task.binding = binding.empty() ? nowhere : binding[id];
        for (size_t mode = 0; mode < modes; ++mode)
            task.rows[mode] =
                cells_.data() + (id * modes + mode) * static_cast<size_t>(LedgerCount::size);
    }
    for (Task& task : tasks_)
        if (!spec_.dynamic || task.id == 0) make_ready(task, 0);
}

Engine::~Engine() {
    for (uint32_t id = 0; id < hardware_.size(); ++id) {
        Thread& thread = system_.thread(id);
        thread.counts = system_.thread_counts().row(id);
        thread.issue = system_.spec().issue;
    }
}

uint32_t Engine::actor_of(uint32_t hardware) const {
    return spec_.pipeline == Pipeline::cmt ? hardware_[hardware].core : hardware;
}

// Says when an actor will act next: now that it may have something else to do.
void Engine::arrange(uint32_t actor) {
    Tick time = never;
    if (spec_.pipeline == Pipeline::cmt) {
        const int64_t cycle = next_cycle(cores_[actor]);
        if (cycle >= 0) time = cycle * ticks_per_cycle;
    } else if (hardware_[actor].task) {
        time = system_.thread(actor).time;
    }
    act_at(actor, time);
}

void Engine::act_at(uint32_t actor, Tick time) {
    if (time == never)
        turns_.remove(actor);
    else
        turns_.set(actor, time);
}

Tick Engine::next_event() const {
    return std::min(next_noise_, wakes_.empty() ? never : wakes_.front().time);
}

Engine::Outcome Engine::advance(Tick until, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    auto late = [&] {
        return std::chrono::duration<double>(Clock::now() - began).count() >= seconds;
    };
    const bool limited = seconds < endless;
    for (uint32_t turn = 1;; ++turn) {
        if (limited && watches_.crowded()) return Outcome::interrupted;
        if (turn % turns_between_looks == 0) {
            look_for_returned();
            if (late()) return Outcome::interrupted;
        }
        if (turns_.empty() && wakes_.empty()) {
            if (!alive_) {
                for (const Task& task : tasks_) now_ = std::max(now_, task.end);
                return Outcome::ended;
            }
            if (away_.empty()) {
                if (!skip_turns()) report_deadlock();
                continue;
            }
            wait_for_program();
            if (late()) return Outcome::interrupted;
            continue;
        }
        const Tick first = turns_.empty() ? never : turns_.first().time;
        const Tick event = next_event();
        if (std::min(first, event) >= until) {
            now_ = std::max(now_, until);
            return Outcome::reached;
        }
        now_ = std::max(now_, std::min(first, event));
        if (event <= first)
            process_event();
        else
            take_turn(until);
        if (starved_) {
            wait_for_program();
            if (late()) return Outcome::interrupted;
        }
    }
}

void Engine::take_turn(Tick until) {
    const Turns::Turn turn = turns_.first();
    system_.advance_channels(turn.time, spec_.quantum);
    Tick end =
        std::min({turns_.end_of_turn(spec_.quantum), system_.next_window(), next_event()});
    // Stopping the relaxed order in the middle of a turn would change what follows.
    if (!spec_.quantum) end = std::min(end, until);
    // Where work has to stop that concerns nobody else.
    Tick cut = spec_.quantum ? turn.time - turn.time % spec_.quantum + spec_.quantum : until;
    cut = std::min(cut, next_noise_);
    if (spec_.pipeline == Pipeline::cmt) {
        watches_.any() ? run_core<true>(turn.actor, end, cut)
                       : run_core<false>(turn.actor, end, cut);
    } else {
        if (end_slice(turn.actor)) return;
        const Tick slice_end = hardware_[turn.actor].task->slice_end;
        cut = std::min(cut, slice_end);
        end = std::min(end, slice_end);
        watches_.any() ? run_thread<true>(turn.actor, end, cut)
                       : run_thread<false>(turn.actor, end, cut);
        arrange(turn.actor);
    }
}

// Pulls the next operations of a task; false when there are none, at least now.
bool Engine::refill(Task& task) {
    task.at = task.filled = 0;
    while (!task.feed_ended) {
        size_t given = 0;
        const Supply supply = task.feed->pull(task.buffer.data(), chunk, given);
        task.filled = given;
        task.feed_ended = supply == Supply::ended;
        if (given) return true;
        if (supply == Supply::pending) return false;
    }
    return false;
}

// Lets those go on that were away and have something to do again.
void Engine::look_for_returned() {
    for (size_t i = 0; i < away_.size();) {
        Task& task = *away_[i];
        if (task.at == task.filled && !refill(task) && !task.feed_ended) {
            ++i;
            continue;
        }
        away_.erase(away_.begin() + static_cast<std::ptrdiff_t>(i));
        make_ready(task, std::max(task.ready, now_));
    }
}

// Nothing can go on before the real program does.
void Engine::wait_for_program() {
    if (starved_) {
        if (starved_->feed->wait(longest_wait)) starved_ = nullptr;
        return;
    }
    away_.front()->feed->wait(longest_wait / 4);
    look_for_returned();
}

void Engine::account(Task& task, Tick now) {
    if (now <= task.since) return;
    task.count(LedgerCount::ticks) += static_cast<uint64_t>(now - task.since);
    task.since = now;
}

void Engine::set_mode(Task& task, Thread& thread, Mode mode) {
    account(task, thread.time);
    task.mode = mode;
    thread.counts = task.rows[static_cast<size_t>(mode)];
}

// A floating-point instruction that the hardware does not do: privileged software does it,
// with one instruction of that kind among its own.
void Engine::expand_trap(Task& task) {
    Op op = task.buffer[task.at];
    op.flags &= static_cast<uint8_t>(~traps);
    task.count(LedgerCount::traps, Mode::supervisor) += op.value;
    Op enter, handler, leave;
    enter.code = Code::supervisor;
    handler.code = Code::other;
    handler.value = op.value * (spec_.trap_instructions - 1);
    leave.code = static_cast<Code>(static_cast<size_t>(Code::user) +
                                   static_cast<size_t>(task.mode));
    std::vector<Op> ops{enter, handler, op, leave};
    ops.insert(ops.end(), task.buffer.begin() + static_cast<std::ptrdiff_t>(task.at) + 1,
               task.buffer.begin() + static_cast<std::ptrdiff_t>(task.filled));
    task.at = 0;
    task.filled = ops.size();
    if (ops.size() < chunk) ops.resize(chunk);
    task.buffer = std::move(ops);
}

const std::vector<uint64_t>& Engine::ledger() {
    for (const Hardware& place : hardware_)
        if (place.task) account(*place.task, now_);
    return cells_;
}

std::vector<uint64_t> Engine::idle_cycles() {
    std::vector<uint64_t> idle;
    for (const CoreState& core : cores_) {
        Tick cycles = (now_ + ticks_per_cycle - 1) / ticks_per_cycle - core.busy;
        if (spec_.pipeline != Pipeline::cmt) {
            const Tick last = core.running ? 0 : std::max<Tick>(0, now_ - core.idle_since);
            cycles = (core.idle + last) / ticks_per_cycle;
        }
        idle.push_back(static_cast<uint64_t>(std::max<Tick>(0, cycles)));
    }
    return idle;
}

}  // namespace gnomon::machine
