// Mechanisms in which the kernel tells: eventfd, epoll, signals. The bytes go through a ring.
#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "notify/ring.hh"

namespace gnomon::notify {

namespace {

// One event for each message: as a semaphore, an eventfd merges none of them.
class EventChannel final : public RingChannel {
  public:
    EventChannel(const ChannelOptions& options, bool with_epoll)
        : RingChannel(options), with_epoll_(with_epoll) {
        const int flags = EFD_SEMAPHORE | EFD_CLOEXEC | (with_epoll ? EFD_NONBLOCK : 0);
        for (Descriptor& each : events_) each = Descriptor(checked(eventfd(0, flags), "eventfd"));
    }

    void enter(int side, pid_t peer) override {
        RingChannel::enter(side, peer);
        if (!with_epoll_) return;
        poll_ = Descriptor(checked(epoll_create1(EPOLL_CLOEXEC), "epoll"));
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        checked(epoll_ctl(poll_, EPOLL_CTL_ADD, events_[side], &wanted), "epoll");
    }

  protected:
    void notify() override {
        const uint64_t one = 1;
        if (write(events_[1 - side_], &one, sizeof one) != sizeof one) fail("eventfd");
    }
    void await() override {
        uint64_t value;
        for (;;) {
            if (with_epoll_) {
                epoll_event event;
                if (epoll_wait(poll_, &event, 1, -1) < 0 && errno != EINTR) fail("epoll");
            }
            if (read(events_[side_], &value, sizeof value) == sizeof value) return;
            if (errno != EINTR && errno != EAGAIN) fail("eventfd");
        }
    }

  private:
    Descriptor events_[2];
    Descriptor poll_;
    bool with_epoll_;
};

volatile sig_atomic_t caught = 0;

void catch_one(int) { caught = caught + 1; }

// Queued signals, of which none is merged with another; the ring bounds how many wait.
class SignalChannel final : public RingChannel {
  public:
    SignalChannel(const ChannelOptions& options, bool by_descriptor)
        : RingChannel(options), by_descriptor_(by_descriptor), signal_(SIGRTMIN + 3) {}

    void enter(int side, pid_t peer) override {
        RingChannel::enter(side, peer);
        sigset_t ours;
        sigemptyset(&ours);
        sigaddset(&ours, signal_);
        if (sigprocmask(SIG_BLOCK, &ours, &waiting_) != 0) fail("signal");
        sigdelset(&waiting_, signal_);
        // Who sends it is asked once, and not with each signal as the C library does.
        info_.si_signo = signal_;
        info_.si_code = SI_QUEUE;
        info_.si_pid = getpid();
        info_.si_uid = getuid();
        if (by_descriptor_) {
            descriptor_ = Descriptor(checked(signalfd(-1, &ours, SFD_CLOEXEC), "signalfd"));
            return;
        }
        struct sigaction action {};
        action.sa_handler = catch_one;
        if (sigaction(signal_, &action, nullptr) != 0) fail("signal");
    }

  protected:
    void notify() override {
        while (syscall(SYS_rt_sigqueueinfo, peer_, signal_, &info_) != 0) {
            if (errno != EAGAIN) fail("signal");
            sched_yield();  // the queue of signals is full
        }
    }
    void await() override {
        if (!by_descriptor_) {
            while (caught == consumed_) sigsuspend(&waiting_);
            consumed_ = consumed_ + 1;
            return;
        }
        signalfd_siginfo info;
        while (read(descriptor_, &info, sizeof info) != sizeof info)
            if (errno != EINTR) fail("signalfd");
    }

  private:
    bool by_descriptor_;
    int signal_;
    sigset_t waiting_;
    siginfo_t info_{};
    sig_atomic_t consumed_ = 0;
    Descriptor descriptor_;
};

}  // namespace

std::unique_ptr<Channel> make_told(const std::string& name, const ChannelOptions& options) {
    if (name == "eventfd") return std::make_unique<EventChannel>(options, false);
    if (name == "epoll") return std::make_unique<EventChannel>(options, true);
    if (name == "signal") return std::make_unique<SignalChannel>(options, false);
    if (name == "signalfd") return std::make_unique<SignalChannel>(options, true);
    return nullptr;
}

}  // namespace gnomon::notify
