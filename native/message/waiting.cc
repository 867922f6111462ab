// How threads wait, how they are told, and how they share the contexts of their node.
#include <algorithm>
#include <utility>

#include "message/simulator.hh"

namespace gnomon::messages {

namespace {

void erase(std::vector<uint32_t>& numbers, uint32_t number) {
    const auto found = std::find(numbers.begin(), numbers.end(), number);
    if (found != numbers.end()) numbers.erase(found);
}

}  // namespace

// ---- Being told

void Simulator::wait(uint32_t number, Thread& thread) {
    thread.notified = false;
    thread.since = now_;
    if (thread.plan->waiting == Waiting::poll) {
        thread.state = State::polling;
        touch(thread.plan->node).spin();
        return;
    }
    thread.state = State::sleeping;
    // A context is lent to a sleeper only as long as nobody needs it.
    if (!node_of(thread).queue.empty()) release(number);
}

void Simulator::wake_waiter(Mailbox& mailbox) {
    for (const uint32_t number : mailbox.waiters) {
        const Thread& thread = threads_[number];
        if (!mailbox.has(wanted(thread, thread.code[thread.at], mailbox))) continue;
        erase(mailbox.waiters, number);
        ++node_of(thread).counts.notifications;
        notify(number, costs_.wake_latency);
        return;
    }
}

void Simulator::notify(uint32_t number, int64_t latency) {
    Thread& thread = threads_[number];
    Node& node = node_of(thread);
    thread.notified = true;
    const uint32_t version = ++thread.version;
    if (thread.state == State::polling) {
        const int64_t period = std::max<int64_t>(costs_.poll_period, 1);
        const int64_t looks = (now_ - thread.since + period - 1) / period;
        node.counts.polls += looks;
        queue_.plan(thread.since + looks * period, Kind::poll, number, version);
        return;
    }
    if (thread.plan->waiting == Waiting::interrupt) {
        queue_.plan(now_ + costs_.signal_latency, Kind::wake, number, version);
        return;
    }
    if (thread.resident) {
        queue_.plan(now_ + latency, Kind::wake, number, version);
        return;
    }
    // The hardware cannot wake who is not there: the operating system must.
    ++node.counts.not_resident;
    int64_t when = now_ + costs_.os_wake;
    if (costs_.hints_are_dropped) {
        ++node.counts.dropped_hints;
        when = (now_ / costs_.os_tick + 1) * costs_.os_tick;
    }
    queue_.plan(when, Kind::wake, number, version);
}

// A poll finds what it waited for.
void Simulator::see(uint32_t number) {
    Thread& thread = threads_[number];
    touch(thread.plan->node).stop_spinning();
    thread.state = State::running;
    go_on(number);
}

void Simulator::wake(uint32_t number) {
    Thread& thread = threads_[number];
    thread.after = After::go_on;
    note(traced_wake, number, thread.last, nobody);
    if (!thread.resident) {
        make_ready(number);
        return;
    }
    thread.state = State::running;
    go_on(number);
}

// ---- Contexts

void Simulator::make_ready(uint32_t number) {
    Thread& thread = threads_[number];
    Node& node = node_of(thread);
    thread.state = State::ready;
    if (node.resident.size() >= costs_.contexts) {
        const auto sleeper =
            std::find_if(node.resident.begin(), node.resident.end(), [this](uint32_t other) {
                return threads_[other].state == State::sleeping;
            });
        if (sleeper == node.resident.end()) {
            node.queue.push_back(number);
            plan_quantum(thread.plan->node);
            return;
        }
        threads_[*sleeper].resident = false;
        node.resident.erase(sleeper);
    }
    admit(number);
}

void Simulator::admit(uint32_t number) {
    Thread& thread = threads_[number];
    Node& node = node_of(thread);
    node.resident.push_back(number);
    ++node.counts.context_switches;
    thread.resident = true;
    thread.state = State::running;
    const double amount =
        std::exchange(thread.left, 0) + static_cast<double>(costs_.context_switch);
    if (amount > 0 || thread.after != After::go_on)
        work(number, amount, thread.after);
    else
        go_on(number);
}

void Simulator::release(uint32_t number) {
    Thread& thread = threads_[number];
    Node& node = node_of(thread);
    node.resident.erase(std::find(node.resident.begin(), node.resident.end(), number));
    thread.resident = false;
    admit_next(thread.plan->node);
}

void Simulator::admit_next(uint32_t number) {
    Node& node = nodes_[number];
    if (node.queue.empty() || node.resident.size() >= costs_.contexts) return;
    const uint32_t next = node.queue.front();
    node.queue.pop_front();
    admit(next);
}

// The time of whoever has had a context longest is over.
void Simulator::preempt(uint32_t number) {
    Node& node = nodes_[number];
    node.quantum_planned = false;
    if (node.queue.empty()) return;
    const auto oldest =
        std::find_if(node.resident.begin(), node.resident.end(), [this](uint32_t other) {
            return threads_[other].state != State::sleeping;
        });
    if (oldest != node.resident.end()) {
        const uint32_t leaving = *oldest;
        Thread& thread = threads_[leaving];
        node.resident.erase(oldest);
        thread.resident = false;
        if (thread.state == State::polling) {
            // It looks again when it is back.
            touch(number).stop_spinning();
            ++thread.version;
            erase(mailboxes_[thread.plan->mailbox].waiters, leaving);
            thread.after = After::go_on;
        } else {
            thread.left = touch(number).remove(leaving);
        }
        thread.state = State::ready;
        node.queue.push_back(leaving);
        admit_next(number);
    }
    if (!node.queue.empty()) plan_quantum(number);
}

void Simulator::plan_quantum(uint32_t number) {
    Node& node = nodes_[number];
    if (node.quantum_planned || costs_.quantum == 0) return;
    node.quantum_planned = true;
    queue_.plan(now_ + costs_.quantum, Kind::quantum, number);
}

}  // namespace gnomon::messages
