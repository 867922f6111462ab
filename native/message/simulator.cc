#include "message/simulator.hh"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace gnomon::messages {

namespace {

// Steps that a thread may do without time going on: with more, it will never come to an end.
constexpr uint64_t most_steps_at_once = 100'000'000;

[[noreturn]] void complain(const std::string& what) { throw std::runtime_error(what); }

double drawn(const Instruction& step, Random& random) {
    const double mean = static_cast<double>(step.x);
    switch (static_cast<Work>(step.kind)) {
        case Work::constant: return mean;
        case Work::exponential: return std::floor(mean * random.exponential() + 0.5);
        default: return std::floor(2 * mean * random.uniform() + 0.5);
    }
}

}  // namespace

Simulator::Simulator(Plan plan, Costs costs, uint64_t seed, size_t trace_limit)
    : plan_(std::move(plan)), costs_(std::move(costs)), trace_limit_(trace_limit) {
    check(plan_, costs_);
    for (const MailboxPlan& mailbox : plan_.mailboxes)
        mailboxes_.emplace_back(mailbox.node, static_cast<Matching>(mailbox.matching));
    nodes_.reserve(plan_.nodes);
    for (uint32_t node = 0; node < plan_.nodes; ++node)
        nodes_.push_back(Node{Processor(costs_.speeds)});
    statistics_.resize(plan_.statistics);
    threads_.reserve(plan_.threads.size());
    for (const ThreadPlan& thread : plan_.threads) {
        threads_.push_back(Thread{&thread, plan_.programs[thread.program].data(),
                                  Random(seed, threads_.size())});
        threads_.back().begun.resize(plan_.statistics);
        if (thread.waiting == Waiting::interrupt) mailboxes_[thread.mailbox].interrupts = true;
        if (!thread.daemon) ++unfinished_;
    }
    for (uint32_t number = 0; number < threads_.size(); ++number) {
        Thread& thread = threads_[number];
        Node& node = node_of(thread);
        if (node.resident.size() < costs_.contexts) {
            node.resident.push_back(number);
            thread.resident = true;
            thread.state = State::running;
            go_on(number);
        } else {
            make_ready(number);
        }
    }
    replan();
}

Outcome Simulator::run(int64_t until, uint64_t most_events) {
    while (unfinished_ > 0) {
        if (queue_.empty()) return Outcome::stuck;
        if (queue_.first().time > until) {
            now_ = std::max(now_, until);
            return Outcome::paused;
        }
        if (most_events == 0) return Outcome::paused;
        const Event event = queue_.take();
        if (event.kind() == Kind::completion && event.version != nodes_[event.subject].version)
            continue;
        now_ = event.time;
        ++events_;
        --most_events;
        switch (event.kind()) {
            case Kind::completion: complete(event.subject); break;
            case Kind::arrival: arrive(event.subject); break;
            case Kind::delivery: deliver(event.subject); break;
            case Kind::wake:
                if (event.version == threads_[event.subject].version) wake(event.subject);
                break;
            case Kind::poll:
                if (event.version == threads_[event.subject].version) see(event.subject);
                break;
            case Kind::quantum: preempt(event.subject); break;
        }
        replan();
    }
    return Outcome::finished;
}

const Processor& Simulator::processor(size_t node) {
    nodes_[node].processor.advance(now_);
    return nodes_[node].processor;
}

std::vector<uint32_t> Simulator::unfinished() const {
    std::vector<uint32_t> left;
    for (uint32_t number = 0; number < threads_.size(); ++number)
        if (threads_[number].state != State::ended && !threads_[number].plan->daemon)
            left.push_back(number);
    return left;
}

void Simulator::note(int64_t what, uint32_t thread, const Message& message, uint32_t peer) {
    if (trace_.size() < trace_limit_)
        trace_.push_back({now_, what, thread, message.bytes, message.tag, peer, message.number});
}

// ---- What threads do

void Simulator::go_on(uint32_t number) {
    Thread& thread = threads_[number];
    uint64_t steps = 0;
    while (do_step(number, thread, thread.code[thread.at]))
        if (++steps > most_steps_at_once)
            complain("a thread goes round for ever without work and without waiting");
}

// False when the thread works, waits or has ended.
bool Simulator::do_step(uint32_t number, Thread& thread, const Instruction& step) {
    switch (static_cast<Step>(step.step)) {
        case Step::end:
            thread.state = State::ended;
            thread.ended = now_;
            if (!thread.plan->daemon) --unfinished_;
            release(number);
            return false;
        case Step::compute: {
            ++thread.at;
            const double amount = drawn(step, thread.random);
            if (amount <= 0) return true;
            work(number, amount, After::go_on);
            return false;
        }
        case Step::send:
            if (costs_.send > 0) {
                work(number, static_cast<double>(costs_.send), After::send);
                return false;
            }
            send(number);
            return true;
        case Step::receive: return receive(number, thread, step);
        case Step::signal:
            if (costs_.signal > 0) {
                work(number, static_cast<double>(costs_.signal), After::signal);
                return false;
            }
            signal(number);
            return true;
        case Step::wait:
            if (thread.signals == 0) {
                wait(number, thread);
                return false;
            }
            --thread.signals;
            break;
        case Step::set: thread.registers[step.x] = step.y; break;
        case Step::loop:
            if (--thread.registers[step.x] > 0) {
                thread.at = step.y;
                return true;
            }
            break;
        case Step::jump: thread.at = step.y; return true;
        case Step::jump_if_tag:
            if (thread.last.tag == step.tag) {
                thread.at = step.y;
                return true;
            }
            break;
        case Step::begin: thread.begun[step.x] = now_; break;
        case Step::finish: statistics_[step.x].add(now_ - thread.begun[step.x]); break;
        case Step::age: statistics_[step.x].add(now_ - thread.last.sent); break;
    }
    ++thread.at;
    return true;
}

void Simulator::work(uint32_t number, double amount, After after) {
    Thread& thread = threads_[number];
    thread.after = after;
    thread.state = State::running;
    touch(thread.plan->node).start(amount, number);
}

// A processor that is about to change: when its next job ends must be planned anew.
Processor& Simulator::touch(uint32_t number) {
    Node& node = nodes_[number];
    if (!node.touched) {
        node.touched = true;
        touched_.push_back(number);
        node.processor.advance(now_);
    }
    return node.processor;
}

void Simulator::replan() {
    for (const uint32_t number : touched_) {
        Node& node = nodes_[number];
        node.touched = false;
        ++node.version;
        if (node.processor.has_jobs())
            queue_.plan(node.processor.next_end(), Kind::completion, number, node.version);
    }
    touched_.clear();
}

void Simulator::complete(uint32_t node) {
    const int64_t owner = touch(node).finish_first().owner;
    if (owner < 0) {
        // The kernel is done with an interrupt.
        wake_waiter(mailboxes_[static_cast<size_t>(-owner - 1)]);
        return;
    }
    const auto number = static_cast<uint32_t>(owner);
    switch (std::exchange(threads_[number].after, After::go_on)) {
        case After::send: send(number); break;
        case After::signal: signal(number); break;
        case After::go_on: break;
    }
    go_on(number);
}

// ---- Messages

uint32_t Simulator::destination(Thread& thread, const Instruction& step) {
    switch (static_cast<Destination>(step.kind)) {
        case Destination::mailbox: return static_cast<uint32_t>(step.x);
        case Destination::reply:
            if (thread.last.reply == nobody) complain("a reply before any message was received");
            return thread.last.reply;
        case Destination::random_other: {
            const std::vector<uint32_t>& group = plan_.groups[step.x];
            const uint64_t chosen = thread.random.below(group.size() - 1);
            return group[chosen + (chosen >= thread.plan->rank)];
        }
        default: {
            const std::vector<uint32_t>& group = plan_.groups[step.x];
            const auto kind = static_cast<Destination>(step.kind);
            const int64_t offset =
                kind == Destination::offset ? step.y : thread.registers[step.y];
            return group[(thread.plan->rank + static_cast<uint64_t>(offset)) % group.size()];
        }
    }
}

void Simulator::send(uint32_t number) {
    Thread& thread = threads_[number];
    const Instruction& step = thread.code[thread.at++];
    const uint32_t made = messages_.make();
    Message& message = messages_[made];
    message.number = ++sent_;
    message.sent = now_;
    message.bytes = step.bytes;
    message.tag = step.tag;
    message.user = step.user == own_thread        ? number
                   : step.user == of_last_message ? thread.last.user
                                                  : step.user;
    message.to = destination(thread, step);
    message.reply = thread.plan->reply;
    message.source = thread.plan->mailbox;
    Node& node = node_of(thread);
    ++node.counts.sent;
    node.counts.bytes_sent += message.bytes;
    note(traced_send, number, message, message.to);
    if (mailboxes_[message.to].node == thread.plan->node) {
        queue_.plan(now_ + costs_.local, Kind::delivery, made);
        return;
    }
    const auto wire = std::llround(
        static_cast<double>(std::max<int64_t>(message.bytes - 1, 0)) * costs_.per_byte);
    const int64_t start = std::max(now_, node.send_free);
    node.send_free = start + wire + costs_.gap;
    node.counts.send_port += wire + costs_.gap;
    queue_.plan(start + costs_.latency, Kind::arrival, made);
}

// The head is there. Only now is the port taken: whoever arrives first has it first.
void Simulator::arrive(uint32_t number) {
    const Message& message = messages_[number];
    Node& node = nodes_[mailboxes_[message.to].node];
    const auto wire = std::llround(
        static_cast<double>(std::max<int64_t>(message.bytes - 1, 0)) * costs_.per_byte);
    const int64_t start = std::max(now_, node.receive_free);
    node.receive_free = start + wire + costs_.gap;
    node.counts.receive_port += wire + costs_.gap;
    note(traced_arrival, nobody, message, message.to);
    queue_.plan(start + wire + costs_.delivery, Kind::delivery, number);
}

void Simulator::deliver(uint32_t number) {
    const Message& message = messages_[number];
    Mailbox& mailbox = mailboxes_[message.to];
    Node& node = nodes_[mailbox.node];
    ++node.counts.received;
    node.counts.bytes_received += message.bytes;
    note(traced_delivery, nobody, message, message.to);
    mailbox.put(number, messages_);
    node.counts.longest_queue = std::max(node.counts.longest_queue, mailbox.waiting_messages);
    if (mailbox.interrupts) {
        ++node.counts.interrupts;
        if (costs_.interrupt > 0) {
            const int64_t owner = -static_cast<int64_t>(message.to) - 1;
            touch(mailbox.node).start(static_cast<double>(costs_.interrupt), owner);
            return;
        }
    }
    wake_waiter(mailbox);
}

uint64_t Simulator::wanted(const Thread& thread, const Instruction& step,
                           const Mailbox& mailbox) const {
    const auto kind = static_cast<From>(step.kind);
    if (kind == From::any || kind == From::tag) return mailbox.key(0, step.tag);
    const std::vector<uint32_t>& group = plan_.groups[step.x];
    const auto size = static_cast<int64_t>(group.size());
    const int64_t offset = kind == From::offset ? step.y : thread.registers[step.y];
    const int64_t place = (static_cast<int64_t>(thread.plan->rank) - offset % size + size) % size;
    return mailbox.key(group[place], step.tag);
}

bool Simulator::receive(uint32_t number, Thread& thread, const Instruction& step) {
    Mailbox& mailbox = mailboxes_[thread.plan->mailbox];
    const uint32_t taken = mailbox.take(wanted(thread, step, mailbox), messages_);
    if (taken == nobody) {
        mailbox.waiters.push_back(number);
        wait(number, thread);
        return false;
    }
    thread.last = messages_[taken];
    messages_.drop(taken);
    note(traced_receipt, number, thread.last, thread.last.source);
    ++thread.at;
    if (costs_.receive == 0) return true;
    work(number, static_cast<double>(costs_.receive), After::go_on);
    return false;
}

void Simulator::signal(uint32_t number) {
    Thread& thread = threads_[number];
    const Instruction& step = thread.code[thread.at++];
    const int64_t named = step.kind == 0 ? step.x : thread.last.user;
    if (named < 0 || static_cast<uint64_t>(named) >= threads_.size() ||
        threads_[named].plan->node != thread.plan->node)
        complain("a signal to a thread that is not on the node");
    const auto target = static_cast<uint32_t>(named);
    ++node_of(thread).counts.signals;
    Thread& woken = threads_[target];
    ++woken.signals;
    const bool waits = woken.state == State::sleeping || woken.state == State::polling;
    const bool for_signal = static_cast<Step>(woken.code[woken.at].step) == Step::wait;
    if (waits && for_signal && !woken.notified) notify(target, costs_.local_wake);
}

}  // namespace gnomon::messages
