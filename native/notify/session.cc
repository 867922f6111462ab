#include "notify/session.hh"

#include <algorithm>
#include <cstring>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "notify/channel.hh"
#include "notify/ring.hh"
#include "notify/shared.hh"
#include "notify/team.hh"

namespace gnomon::notify {

namespace {

constexpr uint64_t discarded = 3;       // trips before the timed ones: both sides wake up first
constexpr uint64_t least_samples = blocks;
// How far a phase may go over its time to have its samples, where each of them is long.
constexpr uint64_t patience_factor = 4;
constexpr uint64_t most_patience = 500'000'000;  // ns
constexpr uint64_t some_time = 50'000;  // ns
constexpr uint64_t clock_share = 20;    // a sample lasts at least so many looks at the clock
constexpr uint64_t calls_a_sample = 64;
constexpr uint64_t least_flood = 8;
constexpr uint64_t most_flood = 1 << 15;

// What both sides agree on, in shared memory.
struct Board {
    Meeting meeting;
    std::atomic<uint64_t> trips{0};
    std::atomic<uint64_t> floods{0};
    std::atomic<uint64_t> flood_ns{0};
    alignas(128) std::atomic<uint64_t> answered{0};
    std::atomic<pid_t> pids[2]{};
    std::atomic<uint64_t> clock{0};
};

// The events of this process, off until they are wanted.
class Counters {
  public:
    explicit Counters(const std::vector<EventSpec>& specs) {
        for (const EventSpec& each : specs)
            fds_.push_back(open_event(each, nullptr, 0, -1, -1, false));
    }
    ~Counters() {
        for (int fd : fds_)
            if (fd >= 0) close(fd);
    }
    void begin() { all(PERF_EVENT_IOC_ENABLE); }
    void end(PhaseResult& result, size_t side) {
        all(PERF_EVENT_IOC_DISABLE);
        for (size_t i = 0; i < fds_.size(); ++i) {
            uint64_t words[3];  // value, enabled, running
            if (fds_[i] < 0 || read(fds_[i], words, sizeof words) != sizeof words) continue;
            result.counts[side][i] = words[0];
            result.enabled[side][i] = words[1];
            result.running[side][i] = words[2];
        }
    }

  private:
    void all(unsigned long request) {
        for (int fd : fds_)
            if (fd >= 0) ioctl(fd, request, 0);
    }
    std::vector<int> fds_;
};

// One side of a session: what both do, and where they differ.
class Side {
  public:
    Side(int side, const SessionSpec& spec, Channel& channel, Board& board, PhaseResult* results,
         size_t room)
        : side_(side), spec_(spec), channel_(channel), board_(board), results_(results),
          out_(room, 'x'), in_(room, 'y') {}

    void run() {
        board_.pids[side_] = getpid();
        board_.meeting.meet(2);
        channel_.enter(side_, board_.pids[1 - side_]);
        if (side_ == 0) {
            clock_ = clock_ticks();
            board_.clock = clock_;
        }
        board_.meeting.meet(2);
        for (size_t i = 0; i < spec_.phases.size(); ++i) {
            phase_ = &spec_.phases[i];
            result_ = &results_[i];
            channel_.begin(phase_->size);
            if (phase_->what == What::null_call) {
                if (side_ == 0) time_null_calls();
                continue;
            }
            if (i == 0 || spec_.phases[i - 1].size != phase_->size) trip_ns_ = warm_up();
            switch (phase_->what) {
                case What::round_trip: round_trips(); break;
                case What::send: sends(); break;
                case What::receive: receives(); break;
                default: floods(); break;
            }
        }
    }

  private:
    void send() { channel_.send(out_.data()); }
    void receive() { channel_.receive(in_.data()); }
    void trip() {
        send();
        receive();
    }
    void answer(uint64_t times) {
        for (uint64_t i = 0; i < times; ++i) {
            receive();
            send();
        }
    }
    // The right side answers until the left one has said, before a message, which is the last.
    template <typename After>
    void answer_all(After after) {
        bool last = false;
        for (uint64_t i = 0; !last; ++i) {
            receive();
            // Looked at before the answer, after which the left side may go on to another phase.
            last = i + 1 >= board_.trips.load(std::memory_order_relaxed);
            send();
            after(i);
        }
    }
    void open_end() {
        if (side_ == 0) board_.trips = UINT64_MAX;
        board_.meeting.meet(2);
    }
    uint64_t patience() const {
        return std::max(phase_->budget_ns,
                        std::min(patience_factor * phase_->budget_ns, most_patience));
    }
    // Runs samples of `trips` trips until the time is up, and there are enough of them. A
    // sample is given the part of the phase that it falls into.
    template <typename Sample>
    uint64_t sample(uint64_t trips, Sample one) {
        const uint64_t start = monotonic_ns();
        uint64_t done = 0, now = start;
        for (bool last = false; !last; ++done) {
            const uint64_t spent = now - start;
            last = done + 1 >= least_samples && spent >= phase_->budget_ns;
            last |= spent >= patience() && done > 0;
            if (last)
                board_.trips.store(discarded + (done + 1) * trips, std::memory_order_relaxed);
            const size_t block = spent >= phase_->budget_ns
                                     ? done % blocks
                                     : static_cast<size_t>(spent * blocks / phase_->budget_ns);
            now = one(block);
        }
        result_->messages = done * trips;
        result_->elapsed_ns = now - start;
        return done;
    }
    // The left side decides how many there are, the right one learns of it. The number does not
    // change before an answer to what it is about has come.
    uint64_t agree(std::atomic<uint64_t>& number, uint64_t mine) {
        if (side_ == 0) number = mine;
        board_.meeting.meet(2);
        return number;
    }
    uint64_t timed_trips(uint64_t times) {
        if (side_ == 1) {
            answer(times);
            return 0;
        }
        const uint64_t start = monotonic_ns();
        for (uint64_t i = 0; i < times; ++i) trip();
        return std::max<uint64_t>((monotonic_ns() - start) / times, 1);
    }
    // Returns about what a trip takes, on the left side.
    uint64_t warm_up() {
        const uint64_t first = timed_trips(agree(board_.trips, 2));
        const uint64_t wanted =
            side_ ? 0 : std::clamp<uint64_t>(phase_->budget_ns / 8 / first, 2, 500);
        return timed_trips(agree(board_.trips, wanted));
    }
    void add(size_t block, uint64_t ns, uint64_t looks, uint64_t divisor) {
        const uint64_t ticks = ns * ticks_a_ns;
        const uint64_t off = clock_ * looks;
        result_->histogram[block][bin_of((ticks > off ? ticks - off : 0) / divisor)]++;
    }

    void round_trips() {
        Counters counters(spec_.events);
        open_end();
        if (side_ == 1) {
            answer_all([&](uint64_t i) {
                if (i + 1 == discarded) counters.begin();
            });
            counters.end(*result_, 1);
            return;
        }
        const uint64_t batch = std::max<uint64_t>(1, clock_ * clock_share / ticks_a_ns / trip_ns_);
        for (uint64_t i = 0; i < discarded; ++i) trip();
        counters.begin();
        uint64_t before = monotonic_ns();
        sample(batch, [&](size_t block) {
            for (uint64_t k = 0; k < batch; ++k) trip();
            const uint64_t now = monotonic_ns();
            add(block, now - before, 1, batch);
            return before = now;
        });
        counters.end(*result_, 0);
        result_->messages *= 2;
        result_->batch = batch;
    }

    void sends() {
        open_end();
        if (side_ == 1) return answer_all([](uint64_t) {});
        for (uint64_t i = 0; i < discarded; ++i) trip();
        sample(1, [&](size_t block) {
            const uint64_t start = monotonic_ns();
            send();
            const uint64_t end = monotonic_ns();
            add(block, end - start, 1, 1);
            receive();
            return end;
        });
    }

    // The answer is there, as the peer said elsewhere, before it is received. Of one that does
    // not fit into the kernel's buffers, only a part can be: then waiting has an end.
    void receives() {
        if (side_ == 0) board_.answered = 0;
        open_end();
        if (side_ == 1)
            return answer_all([&](uint64_t i) {
                board_.answered.store(i + 1, std::memory_order_release);
            });
        for (uint64_t i = 0; i < discarded; ++i) trip();
        uint64_t sent = discarded;
        sample(1, [&](size_t block) {
            send();
            ++sent;
            const uint64_t patience = monotonic_ns() + 5 * trip_ns_ + some_time;
            while (board_.answered.load(std::memory_order_acquire) < sent &&
                   monotonic_ns() < patience)
                if (spec_.left == spec_.right)
                    sched_yield();
                else
                    relax();
            const uint64_t start = monotonic_ns();
            receive();
            const uint64_t end = monotonic_ns();
            add(block, end - start, 1, 1);
            return end;
        });
    }

    // Sends a flood; returns the time that the slower of the two sides took for it.
    uint64_t flood(uint64_t messages) {
        if (side_ == 0) {
            const uint64_t start = monotonic_ns();
            for (uint64_t i = 0; i < messages; ++i) send();
            const uint64_t sent = monotonic_ns() - start;
            receive();
            return std::max<uint64_t>(sent, board_.flood_ns);
        }
        receive();
        const uint64_t start = monotonic_ns();
        for (uint64_t i = 1; i < messages; ++i) receive();
        board_.flood_ns = monotonic_ns() - start;
        send();
        return 0;
    }

    void floods() {
        const uint64_t trial = std::max<uint64_t>(flood(least_flood), 1);
        const uint64_t wanted =
            side_ ? 0
                  : std::clamp<uint64_t>(phase_->budget_ns / blocks * least_flood / trial,
                                         least_flood, most_flood);
        const uint64_t start = monotonic_ns();
        for (size_t block = 0; block < blocks; ++block) {
            const bool enough = block > 0 && monotonic_ns() - start >= patience();
            const uint64_t messages = agree(board_.floods, enough ? 0 : wanted);
            if (messages == 0) break;
            const uint64_t taken = flood(messages);
            if (side_ == 1) continue;
            add(block, taken, 1, messages);
            result_->messages += messages;
            result_->batch = messages;
        }
    }

    void time_null_calls() {
        uint64_t calls = 0;
        const uint64_t begin = monotonic_ns();
        uint64_t before = begin;
        for (size_t block = 0; block < blocks; ++block)
            for (uint64_t until = begin + phase_->budget_ns * (block + 1) / blocks;
                 before < until;) {
                before = monotonic_ns();
                for (uint64_t i = 0; i < calls_a_sample; ++i) syscall(SYS_getppid);
                const uint64_t now = monotonic_ns();
                add(block, now - before, 1, calls_a_sample);
                before = now;
                calls += calls_a_sample;
            }
        result_->messages = calls;
        result_->batch = calls_a_sample;
        result_->elapsed_ns = before - begin;
    }

    int side_;
    const SessionSpec& spec_;
    Channel& channel_;
    Board& board_;
    PhaseResult* results_;
    std::vector<char> out_;
    std::vector<char> in_;
    const Phase* phase_ = nullptr;
    PhaseResult* result_ = nullptr;
    uint64_t clock_ = 0;
    uint64_t trip_ns_ = 1;  // about, on the left side
};

}  // namespace

uint64_t clock_ticks() {
    constexpr size_t looks = 32, trials = 101;
    std::array<uint64_t, trials> found;
    for (uint64_t& each : found) {
        const uint64_t start = monotonic_ns();
        for (size_t i = 1; i < looks; ++i) monotonic_ns();
        each = (monotonic_ns() - start) * ticks_a_ns / looks;
    }
    std::nth_element(found.begin(), found.begin() + trials / 2, found.end());
    return found[trials / 2];
}

SessionResult run_session(const SessionSpec& spec, const std::function<void()>& stopping) {
    size_t largest = 0;
    for (const Phase& each : spec.phases) largest = std::max<size_t>(largest, each.size);
    const auto channel = make_channel(spec.mechanism, {largest, spec.spin_ns});
    SharedMemory memory(sizeof(Board));
    SharedMemory kept(sizeof(PhaseResult) * std::max<size_t>(spec.phases.size(), 1));
    auto& board = *new (memory.data()) Board;
    auto* results = new (kept.data()) PhaseResult[spec.phases.size()];
    {
        Team team;
        if (spec.awake) {
            team.keep_awake(spec.left);
            if (spec.right != spec.left) team.keep_awake(spec.right);
        }
        const size_t room = std::max<size_t>(largest, 1);
        for (int side : {1, 0})
            team.start(side ? "notify-right" : "notify-left", side ? spec.right : spec.left, [&] {
                Side(side, spec, *channel, board, results, room).run();
            });
        team.wait(spec.timeout_ns, stopping);
    }
    return {board.clock, {results, results + spec.phases.size()}};
}

}  // namespace gnomon::notify
