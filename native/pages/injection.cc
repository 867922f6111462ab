#include "pages/injection.hh"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <memory>
#include <string>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gnomon::pages {

namespace {

[[noreturn]] void fail(int error, const char* what) {
    throw std::system_error(error, std::generic_category(), what);
}

#if defined(__x86_64__)
using Registers = user_regs_struct;
constexpr uint8_t instruction[] = {0x0f, 0x05};
void prepare(Registers& r, uint64_t where, long number, const std::array<uint64_t, 4>& a) {
    r.rip = where;
    r.rax = static_cast<uint64_t>(number);
    r.orig_rax = ~uint64_t{0};  // nothing is to be restarted
    r.rdi = a[0];
    r.rsi = a[1];
    r.rdx = a[2];
    r.r10 = a[3];
}
long result_of(const Registers& r) { return static_cast<long>(r.rax); }
#elif defined(__aarch64__)
using Registers = user_regs_struct;
constexpr uint8_t instruction[] = {0x01, 0x00, 0x00, 0xd4};
void prepare(Registers& r, uint64_t where, long number, const std::array<uint64_t, 4>& a) {
    r.pc = where;
    r.regs[8] = static_cast<uint64_t>(number);
    for (size_t i = 0; i < a.size(); ++i) r.regs[i] = a[i];
}
long result_of(const Registers& r) { return static_cast<long>(r.regs[0]); }
#else
struct Registers {};
constexpr uint8_t instruction[] = {0};
void prepare(Registers&, uint64_t, long, const std::array<uint64_t, 4>&) {}
long result_of(const Registers&) { return -ENOSYS; }
#endif

void read_registers(pid_t pid, Registers& registers) {
    iovec room = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &room) < 0) fail(errno, "PTRACE_GETREGSET");
}

void write_registers(pid_t pid, Registers& registers) {
    iovec room = {&registers, sizeof registers};
    if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &room) < 0) fail(errno, "PTRACE_SETREGSET");
}

}  // namespace

Held Held::before_exec(pid_t pid) {
    Held held(pid);
    held.seize(PTRACE_O_TRACEEXEC);
    return held;
}

Held Held::running(pid_t pid) {
    Held held(pid);
    held.seize(0);
    if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0) fail(errno, "PTRACE_INTERRUPT");
    held.await_stop();
    if (held.by_user_) fail(EBUSY, "the process is stopped");  // and would execute nothing for us
    return held;
}

Held::Held(Held&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stopped_(other.stopped_),
      by_user_(other.by_user_),
      postponed_(other.postponed_) {}

Held::~Held() {
    if (pid_ > 0) let_go();
}

void Held::seize(unsigned long options) {
    if (ptrace(PTRACE_SEIZE, pid_, 0, options) == 0) return;
    pid_ = -1;  // there is nothing to let go
    fail(errno, "PTRACE_SEIZE");
}

// Whether it has stopped or ended; how it has ended is left to be asked by those who started it.
bool Held::look(int flags, int& status) const {
    siginfo_t found = {};
    int failed;
    do {
        failed = waitid(P_PID, static_cast<id_t>(pid_), &found,
                        WEXITED | WSTOPPED | WNOWAIT | __WALL | flags);
    } while (failed < 0 && errno == EINTR);
    if (failed < 0) fail(errno, "waitid");
    if (found.si_pid != pid_) return false;
    if (found.si_code == CLD_EXITED || found.si_code == CLD_KILLED || found.si_code == CLD_DUMPED)
        status = 0;
    else if (waitpid(pid_, &status, __WALL | WNOHANG) != pid_)
        return false;
    return true;
}

void Held::await_stop() {
    int status = 0;
    look(0, status);
    if (!WIFSTOPPED(status)) {
        pid_ = -1;
        fail(ESRCH, "the process has ended");
    }
    stopped_with(status);
}

void Held::stopped_with(int status) {
    stopped_ = true;
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    by_user_ = event == PTRACE_EVENT_STOP && signal != SIGTRAP;
    if (!event && signal != SIGTRAP) postponed_ = signal;
}

void Held::resume() {
    stopped_ = false;
    if (by_user_)
        ptrace(PTRACE_LISTEN, pid_, 0, 0);
    else
        ptrace(PTRACE_CONT, pid_, 0, static_cast<long>(std::exchange(postponed_, 0)));
}

void Held::go_on() {
    if (ptrace(PTRACE_SETOPTIONS, pid_, 0, PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC) < 0)
        fail(errno, "PTRACE_SETOPTIONS");
    resume();
}

Held::Event Held::wait(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    if (stopped_) resume();
    // What wakes a blocking wait before its time is a signal, which all of the process would
    // have to agree upon: looking often costs less than that.
    while (true) {
        int status = 0;
        if (look(WNOHANG, status)) {
            if (!WIFSTOPPED(status)) {
                pid_ = -1;
                return Event::gone;
            }
            stopped_with(status);
            const int event = status >> 16;
            if (event == PTRACE_EVENT_EXIT) return Event::exit;
            if (event == PTRACE_EVENT_EXEC) {
                step();
                return Event::exec;
            }
            resume();
            continue;
        }
        if (Clock::now() >= end) return Event::none;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void Held::await_exec() {
    await_stop();
    // Inside of exec the result would still be written over a register: leave it first.
    step();
}

void Held::step() {
    if (ptrace(PTRACE_SINGLESTEP, pid_, 0, 0) < 0) fail(errno, "PTRACE_SINGLESTEP");
    await_stop();
}

uint64_t Held::syscall_instruction() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/maps";
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen(path.c_str(), "re"), std::fclose);
    if (!maps) fail(errno, "maps");
    char line[512];
    while (std::fgets(line, sizeof line, maps.get())) {
        if (!std::strstr(line, "[vdso]")) continue;
        unsigned long start = 0, end = 0;
        if (std::sscanf(line, "%lx-%lx", &start, &end) != 2) break;
        std::vector<uint8_t> code(end - start);
        iovec ours = {code.data(), code.size()}, theirs = {reinterpret_cast<void*>(start),
                                                           code.size()};
        const ssize_t got = process_vm_readv(pid_, &ours, 1, &theirs, 1, 0);
        for (ssize_t i = 0; i + static_cast<ssize_t>(sizeof instruction) <= got; ++i)
            if (!std::memcmp(&code[static_cast<size_t>(i)], instruction, sizeof instruction))
                return start + static_cast<uint64_t>(i);
        break;
    }
    fail(ENOSYS, "the process has no vdso");
}

long Held::call(long number, const std::array<uint64_t, 4>& arguments) {
    Registers before{};
    read_registers(pid_, before);
    Registers now = before;
    prepare(now, syscall_instruction(), number, arguments);
    write_registers(pid_, now);
#if defined(__aarch64__)
    int none = -1;
    iovec room = {&none, sizeof none};
    ptrace(PTRACE_SETREGSET, pid_, NT_ARM_SYSTEM_CALL, &room);
#endif
    step();
    read_registers(pid_, now);
    write_registers(pid_, before);
    return result_of(now);
}

void Held::let_go() {
    if (pid_ < 0) return;
    if (!stopped_ && ptrace(PTRACE_INTERRUPT, pid_, 0, 0) == 0) {
        int status = 0;
        if (!look(0, status) || !WIFSTOPPED(status)) {
            pid_ = -1;
            return;
        }
        stopped_with(status);
    }
    stopped_ = false;
    ptrace(PTRACE_DETACH, pid_, 0, static_cast<long>(std::exchange(postponed_, 0)));
    pid_ = -1;
}

int userfaultfd_of(Held& held, pid_t pid) {
    const long theirs =
        held.call(SYS_userfaultfd, {O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY});
    if (theirs < 0) fail(static_cast<int>(-theirs), "userfaultfd");
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    const int ours =
        process < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_getfd, process, theirs, 0));
    const int error = errno;
    if (process >= 0) close(process);
    held.call(SYS_close, {static_cast<uint64_t>(theirs)});
    if (ours < 0) fail(error, "pidfd_getfd");
    fcntl(ours, F_SETFD, FD_CLOEXEC);
    return ours;
}

}  // namespace gnomon::pages
