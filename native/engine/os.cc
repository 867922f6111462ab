// Which task runs on which hardware thread, and for how long.
//
// Tasks that find no free hardware thread wait in one queue; who has used up a slice of time
// goes to its end when somebody waits. A task that can run goes back to where it ran before if
// that is free, else to the core with the fewest tasks, then the node, then the group.
#include <algorithm>
#include <tuple>

#include "engine/engine.hh"

namespace gnomon::machine {

void Engine::make_ready(Task& task, Tick now) {
    if (task.state == TaskState::unborn) ++alive_;
    task.ready = now;
    const uint32_t place = idle_place(task, now);
    if (place != nowhere) return run_on(task, place, now);
    task.state = TaskState::queued;
    queue_.push_back(&task);
}

uint32_t Engine::idle_place(const Task& task, Tick now) const {
    if (task.binding != nowhere) return hardware_[task.binding].task ? nowhere : task.binding;
    auto is_free = [&](uint32_t id) {
        return !hardware_[id].task && system_.thread(id).time <= now;
    };
    if (task.place != nowhere && is_free(task.place)) return task.place;
    uint32_t best = nowhere;
    auto cost = [&](uint32_t id) {
        const Hardware& place = hardware_[id];
        return std::tuple(!is_free(id), cores_[place.core].running, node_running_[place.node],
                          group_running_[place.core * most_groups + place.group], id);
    };
    for (uint32_t id = 0; id < hardware_.size(); ++id)
        if (!hardware_[id].task && (best == nowhere || cost(id) < cost(best))) best = id;
    return best;
}

void Engine::run_on(Task& task, uint32_t id, Tick now) {
    Hardware& place = hardware_[id];
    Thread& thread = system_.thread(id);
    thread.time = std::max(thread.time, now);
    if (spec_.pipeline == Pipeline::cmt) {
        rewind(cores_[place.core], thread.time);
        thread.time = std::max(thread.time, cores_[place.core].next * ticks_per_cycle);
    }
    change_running(id, 1, thread.time);
    // Who comes back to find everything as it was need not be switched to.
    if (place.last && place.last != &task) thread.time += spec_.switch_cost;
    if (task.place != nowhere && task.place != id)
        task.count(LedgerCount::migrations, Mode::supervisor) += 1;
    if (task.begin < 0) task.begin = thread.time;
    task.state = TaskState::running;
    task.place = id;
    task.since = thread.time;
    task.slice_end = thread.time + spec_.slice;
    thread.counts = task.rows[static_cast<size_t>(task.mode)];
    thread.task = task.id;
    place.task = place.last = &task;
    strands_[id].prepared = false;
    ++changes_;
    arrange(actor_of(id));
}

Engine::Step Engine::block(Task& task, TaskState state, uint64_t object) {
    task.state = state;
    task.object = object;
    task.ready = system_.thread(task.place).time;
    leave(task);
    return Step::gone;
}

// Takes a task from its hardware thread, and gives that to the next one that waits.
void Engine::leave(Task& task) {
    const uint32_t id = task.place;
    const Tick now = system_.thread(id).time;
    account(task, now);
    if (task.state != TaskState::ended)
        task.count(LedgerCount::context_switches, Mode::supervisor) += 1;
    hardware_[id].task = nullptr;
    change_running(id, -1, now);
    ++changes_;
    const auto next = std::find_if(queue_.begin(), queue_.end(), [id](const Task* waiting) {
        return waiting->binding == nowhere || waiting->binding == id;
    });
    if (next == queue_.end()) return arrange(actor_of(id));
    Task& chosen = **next;
    queue_.erase(next);
    run_on(chosen, id, std::max(now, chosen.ready));
}

bool Engine::somebody_waits_for(uint32_t id) const {
    return std::any_of(queue_.begin(), queue_.end(), [id](const Task* waiting) {
        return waiting->binding == nowhere || waiting->binding == id;
    });
}

bool Engine::is_finished(Task& task) {
    return task.at == task.filled && !refill(task) && task.feed_ended;
}

// Whether a task had to go because its time is up and another one waits.
bool Engine::end_slice(uint32_t id) {
    Task& task = *hardware_[id].task;
    const Tick now = system_.thread(id).time;
    if (now < task.slice_end) return false;
    if (!somebody_waits_for(id) || is_finished(task)) {
        task.slice_end += (now - task.slice_end) / spec_.slice * spec_.slice + spec_.slice;
        return false;
    }
    task.state = TaskState::queued;
    task.ready = now;
    leave(task);
    queue_.push_back(&task);
    return true;
}

void Engine::change_running(uint32_t id, int change, Tick now) {
    const Hardware& place = hardware_[id];
    CoreState& core = cores_[place.core];
    if (core.running == 0) core.idle += std::max<Tick>(0, now - core.idle_since);
    core.running += static_cast<uint32_t>(change);
    if (core.running == 0) core.idle_since = now;
    node_running_[place.node] += static_cast<uint32_t>(change);
    group_running_[place.core * most_groups + place.group] += static_cast<uint32_t>(change);
    if (spec_.pipeline != Pipeline::smt || core.running == 0) return;
    const Tick issue = slowed(system_.spec().issue, core.running);
    for (uint32_t each = core.first; each < core.first + core.threads; ++each)
        system_.thread(each).issue = issue;
}

void Engine::process_event() {
    if (wakes_.empty() || next_noise_ < wakes_.front().time) return make_noise(next_noise_);
    std::pop_heap(wakes_.begin(), wakes_.end(), std::greater<>{});
    const Wake wake = wakes_.back();
    wakes_.pop_back();
    make_ready(*wake.task, wake.time);
}

// Something else in the system needs a hardware thread for a while: a free one, else any.
void Engine::make_noise(Tick now) {
    ++noise_events_;
    next_noise_ = now + draw_noise();
    std::vector<uint32_t> busy;
    for (uint32_t id = 0; id < hardware_.size(); ++id) {
        Thread& thread = system_.thread(id);
        if (!hardware_[id].task && thread.time <= now) {
            thread.time = now + spec_.noise_length;
            return;
        }
        if (hardware_[id].task) busy.push_back(id);
    }
    if (busy.empty()) return;
    const uint32_t id = busy[noise_random_.next() % busy.size()];
    Thread& thread = system_.thread(id);
    Task& task = *hardware_[id].task;
    account(task, thread.time);
    thread.time = std::max(thread.time, now) + spec_.noise_length + 2 * spec_.switch_cost;
    task.since = thread.time;
    task.count(LedgerCount::context_switches, Mode::supervisor) += 1;
    arrange(actor_of(id));
}

// Exponentially distributed, by von Neumann's comparisons: no logarithm, so the same everywhere.
Tick Engine::draw_noise() {
    for (Tick whole = 0;; ++whole) {
        const uint32_t first = noise_random_.next();
        uint32_t last = first, falling = 1;
        for (uint32_t drawn = noise_random_.next(); drawn < last;
             drawn = noise_random_.next()) {
            last = drawn;
            ++falling;
        }
        if (falling % 2)
            return whole * spec_.noise_period +
                   static_cast<Tick>((static_cast<unsigned __int128>(spec_.noise_period) * first) >>
                                     32) +
                   1;
    }
}

}  // namespace gnomon::machine
