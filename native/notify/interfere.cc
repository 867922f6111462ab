#include "notify/interfere.hh"

#include <atomic>
#include <unistd.h>

#include "notify/channel.hh"
#include "notify/ring.hh"
#include "notify/session.hh"
#include "notify/shared.hh"
#include "notify/team.hh"

namespace gnomon::notify {

namespace {

constexpr size_t most_workers = 128;
constexpr int unit_steps = 500;  // of dependent multiplications: about a microsecond

struct alignas(128) Worker {
    std::atomic<uint64_t> units{0};
    std::atomic<uint64_t> elapsed_ns{0};
};

struct Floor {
    Meeting meeting;
    std::atomic<uint32_t> over{0};
    alignas(128) std::atomic<uint32_t> last{0};  // whether the next message is the last one
    std::atomic<pid_t> pids[2]{};
    uint64_t messages = 0;
    uint64_t elapsed_ns = 0;
    uint32_t histogram[bins]{};
    Worker workers[most_workers];
};

void compute(Floor& floor, Worker& worker) {
    uint64_t value = 1, units = 0;
    const uint64_t start = monotonic_ns();
    while (!floor.over.load(std::memory_order_relaxed)) {
        for (int i = 0; i < unit_steps; ++i) {
            value = value * 6364136223846793005u + 1442695040888963407u;
            asm volatile("" : "+r"(value));
        }
        worker.units.store(++units, std::memory_order_relaxed);
    }
    worker.elapsed_ns = monotonic_ns() - start;
}

void rest(uint64_t ns, bool blocks) {
    if (blocks) {
        timespec time{static_cast<time_t>(ns / 1'000'000'000u),
                      static_cast<long>(ns % 1'000'000'000u)};
        nanosleep(&time, nullptr);
        return;
    }
    const uint64_t until = monotonic_ns() + ns;
    while (monotonic_ns() < until) relax();
}

void ask(Floor& floor, Channel& channel, const InterfereSpec& spec) {
    const uint64_t off = clock_ticks();
    const uint64_t start = monotonic_ns();
    for (bool last = false; !last;) {
        if (spec.pause_ns) rest(spec.pause_ns, spec.client_blocks);
        const uint64_t before = monotonic_ns();
        last = before - start >= spec.duration_ns;
        if (last) floor.last.store(1, std::memory_order_release);
        channel.send(nullptr);
        channel.receive(nullptr);
        const uint64_t ticks = (monotonic_ns() - before) * ticks_a_ns;
        floor.histogram[bin_of(ticks > off ? ticks - off : 0)]++;
        ++floor.messages;
    }
    floor.elapsed_ns = monotonic_ns() - start;
    floor.over = 1;
}

// The client's own waiting must not depend on what is tried: it polls where it can.
class Crossing final : public Channel {
  public:
    Crossing(std::unique_ptr<Channel> there, std::unique_ptr<Channel> back)
        : there_(std::move(there)), back_(std::move(back)) {}
    void enter(int side, pid_t peer) override {
        Channel::enter(side, peer);
        there_->enter(side, peer);
        back_->enter(side, peer);
    }
    void begin(size_t size) override {
        there_->begin(size);
        back_->begin(size);
    }
    void send(const char* data) override { (side_ == 0 ? there_ : back_)->send(data); }
    void receive(char* data) override { (side_ == 0 ? back_ : there_)->receive(data); }

  private:
    std::unique_ptr<Channel> there_;
    std::unique_ptr<Channel> back_;
};

}  // namespace

InterfereResult run_interference(const InterfereSpec& spec,
                                 const std::function<void()>& stopping) {
    if (spec.compute.size() > most_workers) throw TeamFailure("too many computing processes");
    SharedMemory memory(sizeof(Floor));
    auto& floor = *new (memory.data()) Floor;
    const bool talks = !spec.mechanism.empty();
    std::unique_ptr<Channel> channel;
    if (talks)
        channel = std::make_unique<Crossing>(
            make_channel(spec.mechanism, {0, spec.spin_ns}),
            make_channel(spec.client_blocks ? "futex" : "poll", {0, 0}));
    const auto parties = static_cast<uint32_t>(spec.compute.size() + (talks ? 2 : 1));
    const auto talk = [&](int side) {
        floor.pids[side] = getpid();
        floor.meeting.meet(parties);
        channel->enter(side, floor.pids[1 - side]);
        channel->begin(0);
        if (side == 0) return ask(floor, *channel, spec);
        for (bool last = false; !last;) {
            channel->receive(nullptr);
            last = floor.last.load(std::memory_order_acquire);
            channel->send(nullptr);
        }
    };
    InterfereResult result;
    {
        Team team;
        for (size_t i = 0; i < spec.compute.size(); ++i)
            team.start("notify-compute", spec.compute[i], [&, i] {
                floor.meeting.meet(parties);
                compute(floor, floor.workers[i]);
            });
        if (talks) {
            team.start("notify-right", spec.communicator, [&] { talk(1); });
            team.start("notify-left", spec.client, [&] { talk(0); });
        } else {
            team.start("notify-clock", spec.client, [&] {
                floor.meeting.meet(parties);
                rest(spec.duration_ns, true);
                floor.elapsed_ns = spec.duration_ns;
                floor.over = 1;
            });
        }
        team.wait(spec.timeout_ns, stopping);
    }
    result.messages = floor.messages;
    result.elapsed_ns = floor.elapsed_ns;
    for (size_t i = 0; i < spec.compute.size(); ++i) {
        // Units in the time that the client took, were each to go on as it did.
        const Worker& each = floor.workers[i];
        const double share = static_cast<double>(floor.elapsed_ns) /
                             static_cast<double>(std::max<uint64_t>(each.elapsed_ns, 1));
        result.work.push_back(
            static_cast<uint64_t>(static_cast<double>(each.units.load()) * share));
    }
    std::copy(std::begin(floor.histogram), std::end(floor.histogram), result.histogram.begin());
    return result;
}

}  // namespace gnomon::notify
