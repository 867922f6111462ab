#include "message/program.hh"

#include <stdexcept>
#include <string>

namespace gnomon::messages {

namespace {

void require(bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument(what);
}

bool below(int64_t value, size_t limit) {
    return value >= 0 && static_cast<uint64_t>(value) < limit;
}

void check_step(const Plan& plan, const Instruction& step, size_t length) {
    require(below(step.step, step_kinds), "a step of unknown kind");
    const auto group_with_others = [&] {
        return below(step.x, plan.groups.size()) && plan.groups[step.x].size() > 1;
    };
    // Mailboxes find messages by source and tag in one word.
    require(below(step.tag, size_t{1} << 32), "a tag that is negative or larger than 32 bits");
    switch (static_cast<Step>(step.step)) {
        case Step::compute:
            require(below(step.kind, 3) && step.x >= 0, "work that is negative or of unknown kind");
            break;
        case Step::send:
            require(below(step.kind, 5), "a destination of unknown kind");
            require(step.bytes >= 0, "a message of negative size");
            if (step.kind == 0) require(below(step.x, plan.mailboxes.size()), "no such mailbox");
            if (step.kind == 1 || step.kind > 2)
                require(group_with_others(), "a group with nobody else in it");
            if (step.kind == 4) require(below(step.y, 4), "no such register");
            break;
        case Step::receive:
            require(below(step.kind, 4), "a receive of unknown kind");
            if (step.kind >= 2) require(group_with_others(), "a group with nobody else in it");
            if (step.kind == 3) require(below(step.y, 4), "no such register");
            break;
        case Step::signal:
            if (step.kind == 0) require(below(step.x, plan.threads.size()), "no such thread");
            break;
        case Step::set: require(below(step.x, 4), "no such register"); break;
        case Step::loop:
            require(below(step.x, 4) && below(step.y, length), "a loop to nowhere");
            break;
        case Step::jump:
        case Step::jump_if_tag: require(below(step.y, length), "a jump to nowhere"); break;
        case Step::begin:
        case Step::finish:
        case Step::age: require(below(step.x, plan.statistics), "no such statistic"); break;
        case Step::end:
        case Step::wait: break;
    }
}

}  // namespace

void check(const Plan& plan, const Costs& costs) {
    require(costs.contexts > 0 && !costs.speeds.empty(), "a core without contexts");
    for (const double speed : costs.speeds) require(speed > 0, "a thread without speed");
    require(!costs.hints_are_dropped || costs.os_tick > 0,
            "hints that are dropped need a tick of the operating system");
    for (const MailboxPlan& mailbox : plan.mailboxes)
        require(mailbox.node < plan.nodes && below(mailbox.matching, 3), "a mailbox nowhere");
    for (const auto& group : plan.groups)
        for (const uint32_t member : group)
            require(member < plan.mailboxes.size(), "a group with an unknown mailbox");
    for (const auto& program : plan.programs) {
        require(!program.empty() && program.back().step == static_cast<int64_t>(Step::end),
                "a program without an end");
        for (const Instruction& step : program) check_step(plan, step, program.size());
    }
    bool any = false;
    for (const ThreadPlan& thread : plan.threads) {
        require(thread.node < plan.nodes && thread.program < plan.programs.size() &&
                    thread.mailbox < plan.mailboxes.size() &&
                    thread.reply < plan.mailboxes.size() &&
                    plan.mailboxes[thread.mailbox].node == thread.node,
                "a thread that is nowhere or reads a mailbox of another node");
        any |= !thread.daemon;
    }
    require(any, "no thread whose end would end the run");
}

}  // namespace gnomon::messages
