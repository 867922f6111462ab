// A child process that is held before its first instruction until it is released.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace gnomon {

class Child {
  public:
    // Forks; the child waits. Nothing of `argv` has run yet. Its standard output and
    // error go to `stdout_fd` and `stderr_fd` unless these are negative. With `same_addresses` its memory is not placed at
    // random, where the kernel lets us ask for that.
    Child(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
          const std::string& directory, int stdout_fd, int stderr_fd, bool same_addresses);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }
    // Lets the child call exec; returns 0, or the errno with which exec failed.
    int release();
    // Waits up to `timeout_ns` (forever when negative); true when the child has ended.
    bool wait(long long timeout_ns);
    bool ended() const { return ended_; }
    // The exit code, or minus the number of the signal that ended it.
    int status() const { return status_; }
    void kill(int signal);

  private:
    bool reap(bool block);
    pid_t pid_ = -1;
    int go_fd_ = -1;
    int error_fd_ = -1;
    int pid_fd_ = -1;
    bool released_ = false;
    bool ended_ = false;
    int status_ = 0;
};

}  // namespace gnomon
