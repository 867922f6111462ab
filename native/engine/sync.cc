// What is no instruction: privileges, barriers, locks, starting and joining, sleeping.
#include <algorithm>

#include "engine/engine.hh"

namespace gnomon::machine {

namespace {
constexpr size_t most_named = 8;  // threads in a message
constexpr uint64_t longest_sleep = 1'000'000'000'000;  // nanoseconds

std::string name(const Task& task) { return "thread " + std::to_string(task.id); }
}  // namespace

Engine::Step Engine::control(Task& task, Thread& thread, const Op& op) {
    switch (op.code) {
        case Code::user:
        case Code::supervisor:
        case Code::hypervisor:
            set_mode(task, thread,
                     static_cast<Mode>(static_cast<size_t>(op.code) -
                                       static_cast<size_t>(Code::user)));
            return Step::next;
        case Code::barrier: return meet(task, thread, op.value, op.site);
        case Code::lock: return take_lock(task, op.value, op.site);
        case Code::unlock: return give_lock(task, thread, op.value);
        case Code::start: return start(task, thread, op.value);
        case Code::join: return join(task, thread, op.value);
        case Code::away:
            if (task.at < task.filled || refill(task) || task.feed_ended) return Step::next;
            away_.push_back(&task);
            return block(task, TaskState::away, 0);
        case Code::sleep: {
            const uint64_t ns = std::min(op.value, longest_sleep);
            const auto ticks = static_cast<Tick>(ns * (spec_.ticks_per_us / 1000) +
                                                 ns * (spec_.ticks_per_us % 1000) / 1000);
            wakes_.push_back({thread.time + ticks, wake_order_++, &task});
            std::push_heap(wakes_.begin(), wakes_.end(), std::greater<>{});
            return block(task, TaskState::sleep, 0);
        }
        case Code::grow: footprint_ += static_cast<int64_t>(op.value); return Step::next;
        case Code::shrink: footprint_ -= static_cast<int64_t>(op.value); return Step::next;
        case Code::enter: task.functions.push_back(op.value); return Step::next;
        case Code::leave:
            if (!task.functions.empty()) task.functions.pop_back();
            return Step::next;
        default:
            throw ExecutionError(name(task) + " has an operation of no known kind.");
    }
}

// All go on when the last has come.
Engine::Step Engine::meet(Task& task, Thread& thread, uint64_t id, uint32_t participants) {
    if (!participants)
        throw ExecutionError(name(task) + " waits at a barrier for no threads at all.");
    Barrier& barrier = barriers_[id];
    barrier.latest = std::max(barrier.latest, thread.time);
    if (barrier.waiting.size() + 1 < participants) {
        barrier.waiting.push_back(&task);
        barrier.expected = participants;
        return block(task, TaskState::barrier, id);
    }
    const Barrier met = std::move(barrier);
    barriers_.erase(id);
    thread.time = met.latest;
    for (Task* other : met.waiting) make_ready(*other, met.latest);
    return Step::gone;
}

Engine::Step Engine::take_lock(Task& task, uint64_t id, uint32_t turn) {
    Lock& lock = locks_[id];
    if (lock.holder || !lock.admits(turn)) {
        lock.waiting.emplace_back(&task, turn);
        return block(task, TaskState::lock, id);
    }
    lock.holder = &task;
    lock.pass(turn);
    return Step::next;
}

// Who came first gets it, of those whose turn it is. It need not be the holder who gives it
// back: so semaphores work.
Engine::Step Engine::give_lock(Task& task, Thread& thread, uint64_t id) {
    const auto found = locks_.find(id);
    if (found == locks_.end() || !found->second.holder)
        throw ExecutionError(name(task) + " gives back lock " + std::to_string(id) +
                             ", which nobody holds.");
    Lock& lock = found->second;
    lock.holder = nullptr;
    lock.free = thread.time;
    if (hand_over(lock)) return Step::gone;
    if (lock.waiting.empty() && lock.turn == 1) locks_.erase(found);
    return Step::next;
}

bool Engine::hand_over(Lock& lock) {
    const auto next = std::find_if(lock.waiting.begin(), lock.waiting.end(),
                                   [&](const auto& each) { return lock.admits(each.second); });
    if (next == lock.waiting.end()) return false;
    const auto [task, turn] = *next;
    lock.waiting.erase(next);
    lock.holder = task;
    lock.pass(turn);
    make_ready(*task, std::max(lock.free, task->ready));
    return true;
}

// A turn that nobody will take any more, since all threads wait: a program may end in between.
bool Engine::skip_turns() {
    for (auto& [id, lock] : locks_) {
        if (lock.holder || lock.waiting.empty()) continue;
        uint32_t least = ~uint32_t{0};
        for (const auto& each : lock.waiting) least = std::min(least, each.second - lock.turn);
        lock.turn += least;
        return hand_over(lock);
    }
    return false;
}

// As with a robust mutex, what a thread still holds at its end is free.
void Engine::release_locks_of(const Task& task) {
    for (auto& [id, lock] : locks_) {
        if (lock.holder != &task) continue;
        lock.holder = nullptr;
        lock.free = task.end;
        hand_over(lock);
    }
}

Task& Engine::task_named(const Task& by, const char* deed, uint64_t id) {
    if (id >= tasks_.size())
        throw ExecutionError(name(by) + " " + deed + " thread " + std::to_string(id) +
                             ", which does not exist.");
    return tasks_[id];
}

Engine::Step Engine::start(Task& task, Thread& thread, uint64_t id) {
    Task& other = task_named(task, "starts", id);
    if (other.state != TaskState::unborn) return Step::next;
    make_ready(other, thread.time);
    return Step::gone;
}

Engine::Step Engine::join(Task& task, Thread& thread, uint64_t id) {
    const Task& other = task_named(task, "joins", id);
    if (other.state != TaskState::ended) return block(task, TaskState::join, id);
    thread.time = std::max(thread.time, other.end);
    return Step::gone;
}

void Engine::end_task(Task& task, Thread& thread) {
    task.state = TaskState::ended;
    task.end = thread.time;
    watches_.ended(task);
    --alive_;
    leave(task);
    release_locks_of(task);
    for (Task& other : tasks_)
        if (other.state == TaskState::join && other.object == task.id)
            make_ready(other, std::max(task.end, other.ready));
}

void Engine::report_deadlock() const {
    std::string text = "the threads wait for each other and none can go on: ";
    size_t named = 0, waiting = 0;
    for (const Task& task : tasks_) {
        std::string what;
        const std::string object = std::to_string(task.object);
        if (task.state == TaskState::barrier) {
            const Barrier& barrier = barriers_.at(task.object);
            what = "at barrier " + object + " (" + std::to_string(barrier.waiting.size()) +
                   " of " + std::to_string(barrier.expected) + " are there)";
        } else if (task.state == TaskState::lock) {
            const Task* holder = locks_.at(task.object).holder;
            what = "for lock " + object;
            if (holder) what += ", which " + name(*holder) + " has";
        } else if (task.state == TaskState::join) {
            const bool born = tasks_[task.object].state != TaskState::unborn;
            what = "for the end of thread " + object + (born ? "" : ", which was never started");
        } else {
            continue;
        }
        if (++waiting > most_named) continue;
        text += (named++ ? "; " : "") + name(task) + " waits " + what;
    }
    if (waiting > most_named)
        text += "; and " + std::to_string(waiting - most_named) + " more";
    throw ExecutionError(text + ".");
}

}  // namespace gnomon::machine
