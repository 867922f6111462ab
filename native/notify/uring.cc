// io_uring by its system calls: a read of an eventfd whose completion is polled or waited for.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "notify/ring.hh"

#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif

namespace gnomon::notify {

#if defined(IORING_OFF_SQ_RING) && defined(SYS_io_uring_setup)

namespace {

constexpr unsigned entries = 8;

// The two rings of one process, for one operation at a time.
class Uring {
  public:
    void open() {
        io_uring_params params{};
        fd_ = Descriptor(checked(
            static_cast<int>(syscall(SYS_io_uring_setup, entries, &params)), "io_uring"));
        const size_t submitted =
            params.sq_off.array + params.sq_entries * sizeof(uint32_t);
        const size_t completed =
            params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
        char* sq = map(submitted, IORING_OFF_SQ_RING);
        char* cq = map(completed, IORING_OFF_CQ_RING);
        calls_ = reinterpret_cast<io_uring_sqe*>(
            map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
        sq_tail_ = word(sq, params.sq_off.tail);
        sq_mask_ = *reinterpret_cast<uint32_t*>(sq + params.sq_off.ring_mask);
        order_ = reinterpret_cast<uint32_t*>(sq + params.sq_off.array);
        cq_head_ = word(cq, params.cq_off.head);
        cq_tail_ = word(cq, params.cq_off.tail);
        cq_mask_ = *reinterpret_cast<uint32_t*>(cq + params.cq_off.ring_mask);
        results_ = reinterpret_cast<io_uring_cqe*>(cq + params.cq_off.cqes);
    }
    void put_read(int fd, uint64_t* value) {
        const uint32_t tail = sq_tail_->load(std::memory_order_relaxed);
        const uint32_t at = tail & sq_mask_;
        io_uring_sqe& call = calls_[at];
        std::memset(&call, 0, sizeof call);
        call.opcode = IORING_OP_READ;
        call.fd = fd;
        call.addr = reinterpret_cast<uint64_t>(value);
        call.len = sizeof *value;
        order_[at] = at;
        sq_tail_->store(tail + 1, std::memory_order_release);
    }
    void enter(unsigned submit, unsigned wait) {
        const unsigned flags = wait ? IORING_ENTER_GETEVENTS : 0u;
        while (syscall(SYS_io_uring_enter, static_cast<int>(fd_), submit, wait, flags, nullptr,
                       0) < 0) {
            if (errno != EINTR) fail("io_uring");
            submit = 0;  // what was put in is taken before the wait that a signal ended
        }
    }
    // Takes a completion, if there is one.
    bool take() {
        const uint32_t head = cq_head_->load(std::memory_order_relaxed);
        if (cq_tail_->load(std::memory_order_acquire) == head) return false;
        const int result = results_[head & cq_mask_].res;
        cq_head_->store(head + 1, std::memory_order_release);
        if (result < 0) {
            errno = -result;
            fail("io_uring");
        }
        return true;
    }

  private:
    static std::atomic<uint32_t>* word(char* ring, uint32_t offset) {
        return reinterpret_cast<std::atomic<uint32_t>*>(ring + offset);
    }
    char* map(size_t bytes, uint64_t offset) {
        void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                           static_cast<off_t>(offset));
        if (place == MAP_FAILED) fail("io_uring");
        return static_cast<char*>(place);  // unmapped when the process of this side ends
    }
    Descriptor fd_;
    io_uring_sqe* calls_ = nullptr;
    io_uring_cqe* results_ = nullptr;
    uint32_t* order_ = nullptr;
    std::atomic<uint32_t>* sq_tail_ = nullptr;
    std::atomic<uint32_t>* cq_head_ = nullptr;
    std::atomic<uint32_t>* cq_tail_ = nullptr;
    uint32_t sq_mask_ = 0;
    uint32_t cq_mask_ = 0;
};

class UringChannel final : public RingChannel {
  public:
    UringChannel(const ChannelOptions& options, bool polls)
        : RingChannel(options), polls_(polls) {
        io_uring_params params{};
        const long trial = syscall(SYS_io_uring_setup, entries, &params);
        if (trial < 0) {
            if (errno == ENOSYS) throw Unavailable("the kernel has no io_uring");
            if (errno == EPERM)
                throw Unavailable("io_uring is forbidden here (kernel.io_uring_disabled, seccomp)");
            fail("io_uring");
        }
        close(static_cast<int>(trial));
        for (Descriptor& each : events_)
            each = Descriptor(checked(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC), "eventfd"));
    }
    void enter(int side, pid_t peer) override {
        RingChannel::enter(side, peer);
        uring_.open();
        if (polls_) arm();
    }

  protected:
    void notify() override {
        const uint64_t one = 1;
        if (write(events_[1 - side_], &one, sizeof one) != sizeof one) fail("eventfd");
    }
    void await() override {
        if (polls_) {
            while (!uring_.take()) relax();
            arm();
            return;
        }
        uring_.put_read(events_[side_], &value_);
        uring_.enter(1, 1);
        while (!uring_.take()) uring_.enter(0, 1);
    }

  private:
    void arm() {
        uring_.put_read(events_[side_], &value_);
        uring_.enter(1, 0);
    }
    Uring uring_;
    Descriptor events_[2];
    uint64_t value_ = 0;
    bool polls_;
};

}  // namespace

std::unique_ptr<Channel> make_uring(const std::string& name, const ChannelOptions& options) {
    if (name == "io_uring-poll") return std::make_unique<UringChannel>(options, true);
    if (name == "io_uring-wait") return std::make_unique<UringChannel>(options, false);
    return nullptr;
}

#else

std::unique_ptr<Channel> make_uring(const std::string& name, const ChannelOptions&) {
    if (name == "io_uring-poll" || name == "io_uring-wait")
        throw Unavailable("this build knows no io_uring");
    return nullptr;
}

#endif

std::vector<std::string> mechanisms() {
    return {"poll",     "poll-pause",    "umwait",        "tpause",      "uintr",
            "spin-block", "futex",       "io_uring-poll", "io_uring-wait", "eventfd",
            "epoll",    "signal",        "signalfd",      "mqueue",      "pipe",
            "unix-stream", "unix-datagram", "tcp"};
}

std::unique_ptr<Channel> make_channel(const std::string& name, const ChannelOptions& options) {
    for (auto maker : {make_waiting, make_told, make_stream, make_uring})
        if (auto made = maker(name, options)) return made;
    throw Unavailable("there is no mechanism '" + name + "'");
}

}  // namespace gnomon::notify
