// A cluster that runs a message program: cores with shared contexts, ports, notification.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "message/events.hh"
#include "message/mailbox.hh"
#include "message/processor.hh"
#include "message/program.hh"
#include "message/random.hh"
#include "message/statistics.hh"

namespace gnomon::messages {

struct NodeCounts {
    int64_t sent = 0, received = 0, bytes_sent = 0, bytes_received = 0;
    int64_t notifications = 0, signals = 0, polls = 0, interrupts = 0;
    int64_t context_switches = 0, not_resident = 0, dropped_hints = 0;
    int64_t send_port = 0, receive_port = 0, longest_queue = 0;
};

// A step in the life of a message, for timelines.
enum : int64_t { traced_send, traced_arrival, traced_delivery, traced_receipt, traced_wake };
struct Trace {
    int64_t time, what, thread, message_bytes, tag, peer, message;
};

enum class Outcome { finished, paused, stuck };

class Simulator {
public:
    Simulator(Plan plan, Costs costs, uint64_t seed, size_t trace_limit);

    // Goes on until no thread but daemons is left, or up to a moment.
    Outcome run(int64_t until, uint64_t most_events);

    int64_t now() const { return now_; }
    uint64_t events() const { return events_; }
    const NodeCounts& counts(size_t node) const { return nodes_[node].counts; }
    // Brought up to the present moment.
    const Processor& processor(size_t node);
    const std::vector<Statistic>& statistics() const { return statistics_; }
    const std::vector<Trace>& trace() const { return trace_; }
    // Threads that have not ended, daemons left out.
    std::vector<uint32_t> unfinished() const;
    int64_t ended_at(size_t thread) const { return threads_[thread].ended; }

private:
    enum class State : uint8_t { ready, running, polling, sleeping, ended };
    // What a thread does when its present work is done.
    enum class After : uint8_t { go_on, send, signal };

    struct Thread {
        const ThreadPlan* plan;
        const Instruction* code;
        Random random;
        State state = State::ready;
        After after = After::go_on;
        bool resident = false, notified = false;
        size_t at = 0;
        double left = 0;
        int64_t signals = 0, since = 0, ended = -1;
        uint32_t version = 0;
        Message last{};
        std::array<int64_t, 4> registers{};
        std::vector<int64_t> begun{};
    };

    struct Node {
        Processor processor;
        NodeCounts counts{};
        std::deque<uint32_t> queue{};     // threads without a context
        std::deque<uint32_t> resident{};  // threads with one, the longest there first
        int64_t send_free = 0, receive_free = 0;
        uint32_t version = 0;
        bool touched = false, quantum_planned = false;
    };

    Node& node_of(const Thread& thread) { return nodes_[thread.plan->node]; }
    void note(int64_t what, uint32_t thread, const Message& message, uint32_t peer);

    void go_on(uint32_t number);
    bool do_step(uint32_t number, Thread& thread, const Instruction& step);
    void work(uint32_t number, double amount, After after);
    Processor& touch(uint32_t node);
    void replan();
    void complete(uint32_t node);

    uint32_t destination(Thread& thread, const Instruction& step);
    void send(uint32_t number);
    void signal(uint32_t number);
    void arrive(uint32_t message);
    void deliver(uint32_t message);
    bool receive(uint32_t number, Thread& thread, const Instruction& step);
    uint64_t wanted(const Thread& thread, const Instruction& step, const Mailbox& mailbox) const;

    void wait(uint32_t number, Thread& thread);
    void wake_waiter(Mailbox& mailbox);
    void notify(uint32_t number, int64_t latency);
    void see(uint32_t number);
    void wake(uint32_t number);

    void make_ready(uint32_t number);
    void admit(uint32_t number);
    void release(uint32_t number);
    void admit_next(uint32_t node);
    void preempt(uint32_t node);
    void plan_quantum(uint32_t node);

    const Plan plan_;
    const Costs costs_;
    EventQueue queue_;
    Messages messages_;
    std::vector<Mailbox> mailboxes_;
    std::vector<Node> nodes_;
    std::vector<Thread> threads_;
    std::vector<Statistic> statistics_;
    std::vector<Trace> trace_;
    size_t trace_limit_;
    int64_t now_ = 0;
    uint64_t events_ = 0;
    int64_t sent_ = 0;
    size_t unfinished_ = 0;
    std::vector<uint32_t> touched_;
};

}  // namespace gnomon::messages
