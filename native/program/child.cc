#include "program/child.hh"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace gnomon {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Runs in the child between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* directory,
                         int stdout_fd, int stderr_fd, bool same_addresses, int go_fd,
                         int error_fd) {
    char go = 0;
    ssize_t got;
    do {
        got = read(go_fd, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) _exit(127);  // the parent has gone before it released us
    struct sigaction fresh = {};
    fresh.sa_handler = SIG_DFL;
    // Python ignores these two; a measured program must find them as a shell leaves them.
    sigaction(SIGPIPE, &fresh, nullptr);
    sigaction(SIGXFSZ, &fresh, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (stdout_fd >= 0) dup2(stdout_fd, STDOUT_FILENO);
    if (stderr_fd >= 0) dup2(stderr_fd, STDERR_FILENO);
    if (same_addresses) personality(ADDR_NO_RANDOMIZE);
    int error = 0;
    if (directory[0] != '\0' && chdir(directory) < 0) {
        error = errno;
    } else {
        execvpe(argv[0], argv, environment);
        error = errno;
    }
    ssize_t ignored = write(error_fd, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
             const std::string& directory, int stdout_fd, int stderr_fd,
             bool same_addresses) {
    const auto argument_pointers = pointers(argv);
    const auto environment_pointers = pointers(environment);
    int go[2], error[2];
    if (pipe2(go, O_CLOEXEC) < 0) fail("pipe");
    if (pipe2(error, O_CLOEXEC) < 0) {
        close(go[0]);
        close(go[1]);
        fail("pipe");
    }
    pid_ = fork();
    if (pid_ == 0) {
        close(go[1]);
        close(error[0]);
        become(argument_pointers.data(), environment_pointers.data(), directory.c_str(),
               stdout_fd, stderr_fd, same_addresses, go[0], error[1]);
    }
    const int fork_error = errno;
    close(go[0]);
    close(error[1]);
    go_fd_ = go[1];
    error_fd_ = error[0];
    if (pid_ < 0) {
        close(go_fd_);
        close(error_fd_);
        errno = fork_error;
        fail("fork");
    }
    pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

Child::~Child() {
    if (go_fd_ >= 0) close(go_fd_);
    if (error_fd_ >= 0) close(error_fd_);
    if (!ended_) {
        // A held child would leave at end of file, but a later one may hold a copy of the pipe.
        ::kill(pid_, SIGKILL);
        reap(true);
    }
    if (pid_fd_ >= 0) close(pid_fd_);
}

int Child::release() {
    if (released_) return 0;
    released_ = true;
    const char go = 1;
    ssize_t wrote = write(go_fd_, &go, 1);
    (void)wrote;
    close(go_fd_);
    go_fd_ = -1;
    int error = 0;
    ssize_t got;
    do {
        got = read(error_fd_, &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    close(error_fd_);
    error_fd_ = -1;
    if (got != sizeof error) return 0;
    reap(true);
    return error;
}

bool Child::reap(bool block) {
    if (ended_) return true;
    int raw = 0;
    pid_t got;
    do {
        got = waitpid(pid_, &raw, block ? 0 : WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    ended_ = true;
    if (got < 0) {
        status_ = 0;  // someone else reaped it; its status is lost
    } else {
        status_ = WIFSIGNALED(raw) ? -WTERMSIG(raw) : WEXITSTATUS(raw);
    }
    return true;
}

bool Child::wait(long long timeout_ns) {
    if (reap(false)) return true;
    if (pid_fd_ >= 0) {
        pollfd watched = {pid_fd_, POLLIN, 0};
        timespec limit = {timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
        ppoll(&watched, 1, timeout_ns < 0 ? nullptr : &limit, nullptr);
    } else {  // kernels before 5.3
        timespec nap = {0, 5'000'000};
        nanosleep(&nap, nullptr);
    }
    return reap(false);
}

void Child::kill(int signal) {
    if (!ended_ && ::kill(pid_, signal) < 0 && errno != ESRCH) fail("kill");
}

}  // namespace gnomon
