// What threads of a simulated message program do: a few kinds of steps with numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace gnomon::messages {

enum class Step : int64_t {
    end,
    compute,     // kind: Work; x: mean in ps
    send,        // kind: Destination; x, y; bytes, tag, user
    receive,     // kind: From; x, y; tag
    signal,      // kind: 0 thread x, 1 the thread that the last message names
    wait,        // for a signal
    set,         // register x = y
    loop,        // register x -= 1; to step y unless that is 0
    jump,        // to step y
    jump_if_tag, // to step y if the last message has this tag
    begin,       // of what statistic x times
    finish,      // of what statistic x times
    age,         // of the last message, into statistic x
};
constexpr int64_t step_kinds = 13;

enum class Work : int64_t { constant, exponential, uniform };
enum class Destination : int64_t { mailbox, random_other, reply, offset, register_offset };
enum class From : int64_t { any, tag, offset, register_offset };

// What `user` of a send means beside a number of its own.
constexpr int64_t own_thread = -1, of_last_message = -2;

struct Instruction {
    int64_t step, kind, x, y, bytes, tag, user;
};
constexpr int instruction_fields = 7;

enum class Waiting : uint8_t { poll, sleep, interrupt };

struct ThreadPlan {
    uint32_t node, program, mailbox, reply, rank;
    Waiting waiting;
    bool daemon;
};

struct MailboxPlan {
    uint32_t node;
    int64_t matching;
};

struct Plan {
    std::vector<std::vector<Instruction>> programs;
    std::vector<ThreadPlan> threads;
    std::vector<MailboxPlan> mailboxes;
    std::vector<std::vector<uint32_t>> groups;
    uint32_t nodes = 0, statistics = 0;
};

// Times in ps.
struct Costs {
    int64_t latency = 0, gap = 0, delivery = 0, local = 0;
    double per_byte = 0;
    int64_t send = 0, receive = 0;
    int64_t signal = 0, wake_latency = 0, local_wake = 0;
    int64_t poll_period = 0;
    int64_t interrupt = 0, signal_latency = 0;
    int64_t context_switch = 0, os_wake = 0, os_tick = 0, quantum = 0;
    bool hints_are_dropped = false;
    uint32_t contexts = 1;
    std::vector<double> speeds;
};

// Complains about numbers that name nothing, so that the simulator need not look.
void check(const Plan& plan, const Costs& costs);

}  // namespace gnomon::messages
