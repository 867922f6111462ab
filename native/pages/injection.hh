// Calls of the kernel that another process makes for us: it is stopped, executes one
// `syscall` instruction of its own vdso, and goes on as if nothing had happened.
#pragma once

#include <array>
#include <cstdint>
#include <sys/types.h>

namespace gnomon::pages {

// A process that is held by ptrace. All calls must come from the thread that made it. Throws
// std::system_error when the process may not be traced, or has ended.
class Held {
  public:
    // Takes hold of a process that has not called exec yet, without stopping it.
    static Held before_exec(pid_t pid);
    // Stops a running process; one that is stopped already, as by SIGSTOP, is refused.
    static Held running(pid_t pid);
    Held(Held&& other) noexcept;
    Held& operator=(Held&&) = delete;
    ~Held();

    // Waits for exec, and stops before the new program's second instruction.
    void await_exec();
    // Lets it run on, to be stopped again when it ends or becomes another program.
    void go_on();
    enum class Event { none, exit, exec, gone };
    // Waits for one of those, and passes signals on meanwhile. After `exit` it is stopped with
    // its memory still there; after `exec` before the new program's second instruction.
    Event wait(double seconds);
    // The result of a system call that the process makes, negative for an error.
    long call(long number, const std::array<uint64_t, 4>& arguments = {});
    // Lets it run on by itself, whether it is stopped or not.
    void let_go();

  private:
    explicit Held(pid_t pid) : pid_(pid) {}
    void seize(unsigned long options);
    void await_stop();
    void stopped_with(int status);
    bool look(int flags, int& status) const;
    void resume();
    void step();
    uint64_t syscall_instruction() const;

    pid_t pid_;
    bool stopped_ = false;
    bool by_user_ = false;  // as by SIGSTOP, which is not ours to end
    int postponed_ = 0;  // a signal that came while we were at work
};

// A userfaultfd of the memory of a held process, as a descriptor of this one.
int userfaultfd_of(Held& held, pid_t pid);

}  // namespace gnomon::pages
