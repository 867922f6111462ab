#include "notify/team.hh"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "notify/channel.hh"
#include "notify/ring.hh"
#include "perf/event.hh"

namespace gnomon::notify {

namespace {

constexpr size_t most_members = 256;
constexpr size_t complaint_bytes = 200;
constexpr int complained = 3;
constexpr int look_every_ms = 50;
constexpr uint64_t last_words_ns = 20'000'000;

int watch_of(pid_t pid) {
#ifdef SYS_pidfd_open
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
    (void)pid;
    return -1;
#endif
}

void settle_on(int cpu) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(cpu), &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0) fail("staying on a CPU");
}

}  // namespace

Team::Team()
    : complaints_(most_members * complaint_bytes), done_(sizeof(std::atomic<uint32_t>)) {
    new (done_.data()) std::atomic<uint32_t>{0};
}

std::atomic<uint32_t>& Team::done() const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(done_.data());
}

Team::~Team() {
    kill_all();
    for (Member& each : members_) {
        if (!each.ended) look(each, true);
        if (each.watch >= 0) close(each.watch);
    }
}

void Team::add(const char* name, int cpu, bool works, const std::function<void()>& work) {
    if (members_.size() == most_members) throw TeamFailure("too many processes");
    char* complaint = complaints_.data() + members_.size() * complaint_bytes;
    const pid_t parent = getpid();
    const pid_t pid = checked(fork(), "fork");
    if (pid == 0) {
        int code = 0;
        try {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(0);  // it died before it could be followed
            prctl(PR_SET_NAME, name);
            signal(SIGINT, SIG_IGN);  // the watcher decides
            signal(SIGPIPE, SIG_IGN);
            settle_on(cpu);
            work();
            ++done();
        } catch (const std::exception& error) {
            std::snprintf(complaint, complaint_bytes, "%s", error.what());
            code = complained;
        }
        _exit(code);
    }
    members_.push_back({pid, name, watch_of(pid), works});
}

void Team::start(const char* name, int cpu, const std::function<void()>& work) {
    add(name, cpu, true, work);
}

void Team::keep_awake(int cpu) {
    add("notify-awake", cpu, false, [] {
        sched_param none{};
        if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) fail("the lowest priority");
        for (;;) relax();
    });
}

bool Team::look(Member& member, bool block) {
    if (member.ended) return true;
    int status = 0;
    pid_t found;
    do found = waitpid(member.pid, &status, block ? 0 : WNOHANG);
    while (found < 0 && errno == EINTR);
    if (found == 0) return false;
    member.ended = true;
    member.status = found == member.pid ? status : 0;
    return true;
}

void Team::end(const Member& member) noexcept {
    if (member.ended) return;
    ::kill(member.pid, SIGKILL);
    // It must run to die, which one of the lowest priority hardly does on a busy CPU.
    sched_param none{};
    if (!member.works) sched_setscheduler(member.pid, SCHED_OTHER, &none);
}

void Team::kill_all() noexcept {
    for (const Member& each : members_) end(each);
}

// Those that keep CPUs awake could keep the others from ending, who may need what a process
// without a CPU holds in the kernel.
void Team::release() noexcept {
    const auto working = std::count_if(members_.begin(), members_.end(),
                                       [](const Member& each) { return each.works; });
    if (released_ || done() < static_cast<uint32_t>(working)) return;
    released_ = true;
    for (const Member& each : members_)
        if (!each.works) end(each);
}

void Team::wait(uint64_t timeout_ns, const std::function<void()>& stopping) {
    const uint64_t start = monotonic_ns();
    for (;;) {
        bool bad = false, busy = false;
        std::vector<pollfd> watched;
        for (Member& each : members_) {
            if (look(each, false)) {
                bad |= each.works ? !WIFEXITED(each.status) || WEXITSTATUS(each.status) != 0
                                  : !released_;
            } else {
                busy |= each.works;
                if (each.watch >= 0) watched.push_back({each.watch, POLLIN, 0});
            }
        }
        if (bad) report();
        if (!busy) return;
        release();
        if (monotonic_ns() - start > timeout_ns)
            throw TeamFailure("nothing came back in time, so all of it was stopped");
        stopping();
        // Without descriptors that tell, looking often is all that is left.
        const bool blind = watched.empty();
        poll(watched.data(), watched.size(), blind ? 5 : look_every_ms);
    }
}

void Team::report() {
    // Who was killed leaves others to complain about it: its end is the one to tell.
    const uint64_t start = monotonic_ns();
    for (;;) {
        bool all = true;
        for (Member& each : members_) all &= look(each, false);
        for (const Member& each : members_)
            if (each.ended && WIFSIGNALED(each.status) && (each.works || !released_))
                throw TeamFailure("process " + std::to_string(each.pid) + " (" + each.name +
                                  ") was killed by signal " +
                                  std::to_string(WTERMSIG(each.status)));
        if (all || monotonic_ns() - start > last_words_ns) break;
        poll(nullptr, 0, 1);
    }
    for (size_t i = 0; i < members_.size(); ++i)
        if (members_[i].ended && members_[i].status != 0)
            throw TeamFailure(members_[i].name + ": " + (complaints_.data() + i * complaint_bytes));
    throw TeamFailure("a process ended too early");
}

}  // namespace gnomon::notify
