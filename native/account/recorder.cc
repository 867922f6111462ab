#include "account/recorder.hh"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf/event.hh"

namespace gnomon::account {

namespace {

int64_t now_ns() { return static_cast<int64_t>(monotonic_ns()); }

int64_t own_cpu_ns() {
    timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

// Those that have ended and that nobody has asked for yet have memory no more.
bool has_gone(int pid) {
    return read_whole("/proc/" + std::to_string(pid) + "/cmdline").empty();
}

// Whether its wait, if it is in one, has not been looked at.
bool is_due(const Thread& thread) {
    return !thread.looked && (thread.state == State::waiting || thread.state == State::unknown);
}

constexpr double burst = 5e6;             // ns of looks that may be saved up
constexpr int64_t longest_charge = 500'000;  // ns: longer ones were waited for, not worked
constexpr size_t many = 256;              // threads
constexpr int64_t rate_window = 200'000'000, buried_after = 1'000'000'000;
// So many times too often is noticed in so small a part of the window: the rings fill up.
constexpr int64_t haste = 4;
// Without records of switches, so many threads are read at each tick beside those that run.
constexpr size_t read_always = 128, read_in_turn = 32;
constexpr double filling = 0.25;          // of a ring, from which it is not left alone until the tick

}  // namespace

Recorder::Recorder(std::shared_ptr<frames::Library> library,
                   std::shared_ptr<frames::PythonFunctions> functions, RecorderOptions options)
    : options_(std::move(options)),
      library_(std::move(library)),
      functions_(std::move(functions)),
      log_(options_.memory, options_.folders),
      people_(library_, functions_, options_.descriptors),
      looker_(people_, log_, library_),
      resources_(log_, options_.idle_cpus, options_.quotas),
      scanner_(people_, log_),
      own_pid_(getpid()) {
    if (options_.perf) rings_ = std::make_unique<Rings>(options_.rings);
    switches_ = rings_ && options_.rings.switches;
    if (rings_) {
        sees_kernel_ = rings_->sees_kernel();
        ring_pages_ = rings_->pages();
    }
    if (options_.timer_fd >= 0) timer_ = std::make_unique<TimerSamples>(options_.timer_fd);
    stop_fd_ = eventfd(0, EFD_CLOEXEC);
    if (options_.root > 0)
        pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, options_.root, 0));
}

Recorder::~Recorder() {
    stop();
    if (pidfd_ >= 0) close(pidfd_);
    if (stop_fd_ >= 0) close(stop_fd_);
}

void Recorder::start() {
    started_ = refilled_ = rate_since_ = now_ns();
    random_ = static_cast<uint64_t>(started_) * 2654435761u | 1;
    credit_ = burst;
    if (options_.root > 0) {
        Process& root = people_.process(options_.root);
        root.born = started_;
        if (options_.started) {
            people_.thread(options_.root, options_.root).state = State::on;
            log_.add(Moment{started_, Kind::fork, 0, 0, options_.root, options_.root, -1, own_pid_, own_pid_});
        } else {
            people_.processes().erase(options_.root);
            for (const int tid : numbers_in("/proc/" + std::to_string(options_.root) + "/task"))
                introduce(people_, log_, options_.root, tid, 0, true, started_);
            people_.refresh(people_.process(options_.root));
        }
    }
    resources_.read_system(started_, true);
    if (rings_ && !options_.started) rings_->enable();
    thread_ = std::thread([this] { run(); });
}

bool Recorder::wait(int64_t timeout_ns) {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return finished_; });
}

void Recorder::stop() {
    stopping_ = true;
    const uint64_t one = 1;
    if (stop_fd_ >= 0 && write(stop_fd_, &one, sizeof one) < 0) return;
    if (thread_.joinable()) thread_.join();
}

void Recorder::run() {
    prepare_thread();
    const int64_t before = own_cpu_ns();
    loop();
    finish();
    own_ns_ = own_cpu_ns() - before;
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    done_.notify_all();
}

// Of this thread alone: ticks that come at their time, on a loaded machine, too.
void Recorder::prepare_thread() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    pthread_setname_np(pthread_self(), "gnomon-recorder");
    prctl(PR_SET_TIMERSLACK, 1);  // else ticks join the timer that ends the sleep they should see
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wanted = {sizeof wanted, 0, 0, getpriority(PRIO_PROCESS, 0), 0, 100'000, 0, 0};
    syscall(SYS_sched_setattr, 0, &wanted, 0);  // a short slice, from Linux 6.12 on
}

uint64_t Recorder::random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ >> 11;
}

void Recorder::loop() {
    // Random lengths: a program of the period of the tick would beat with it.
    const auto step = [this] {
        const auto span = static_cast<uint64_t>(options_.tick_to - options_.tick_from + 1);
        return options_.tick_from + static_cast<int64_t>(random() % span);
    };
    std::vector<pollfd> watched{{stop_fd_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
    if (rings_)
        for (const int fd : rings_->descriptors()) watched.push_back({fd, POLLIN, 0});
    int64_t next = now_ns() + step();
    while (!stopping_) {
        const int64_t left = std::max<int64_t>(0, next - now_ns());
        const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
        // Frames of Python are read as soon as there is a sample; else the tick is soon enough.
        const bool rings = rings_ && (python_seen_ || rings_->fullest() > filling);
        const nfds_t count = rings ? watched.size() : 2;
        const int found = ppoll(watched.data(), count, &limit, nullptr);
        if (found > 0 && (watched[0].revents || watched[1].revents)) break;
        if (found > 0) {
            for (size_t i = 2; i < count; ++i)
                if (watched[i].revents & (POLLHUP | POLLERR)) watched[i].fd = -1;  // all have ended
            drain();
        }
        if (now_ns() < next) continue;
        next += step();
        if (now_ns() > next) next = now_ns() + step();
        tick();
    }
}

void Recorder::finish() {
    ended_ = now_ns();
    drain();
    settle_exits();
    take_timer_samples();
    for (auto& [tid, thread] : people_.threads()) read_schedule(thread, ended_, true);
    for (auto& [pid, process] : people_.processes()) {
        process.next_reading = 0;
        resources_.read_process(process, ended_);
        if (pid != options_.root && options_.root > 0 && !has_gone(pid)) ++left_behind_;
    }
    resources_.read_system(ended_, true);
    if (!stopping_)
        for (const auto& [tid, thread] : people_.threads())  // no record tells of their end
            if ((!rings_ || thread.unrecorded) &&
                (thread.pid == options_.root || has_gone(thread.pid)))
                log_.add(Moment{ended_, Kind::exit, 0, 0, thread.pid, tid, -1, 0, 0});
    if (options_.root > 0 && !stopping_)
        log_.add(Moment{ended_, Kind::end, 0, 0, options_.root, options_.root, -1, -1, 0});
    log_.settle(INT64_MAX);
    // What was recorded may be kept for long: nothing else is.
    rings_.reset();
    people_.forget_all();
}

void Recorder::tick() {
    const int64_t now = now_ns();
    refill(now);
    if (switches_)
        tick_with_switches(now);
    else
        tick_without(now);
    take_timer_samples();
    resources_.read_system(now, false);
    resources_.read_processes(people_, now);
    bury(now);
}

// Many threads cost more beside their looks: records of their switches, and choosing among them.
void Recorder::refill(int64_t now) {
    const double share = people_.threads().size() > many ? options_.looking / 2 : options_.looking;
    credit_ = std::min(burst, credit_ + share * static_cast<double>(now - refilled_));
    refilled_ = now;
}

bool Recorder::spend(int64_t since) {
    credit_ -= static_cast<double>(std::min(now_ns() - since, longest_charge));
    return credit_ > 0;
}

template <typename Wanted>
std::vector<Thread*> Recorder::in_random_order(Wanted wanted) {
    std::vector<Thread*> chosen;
    for (auto& [tid, thread] : people_.threads())
        if (wanted(thread)) chosen.push_back(&thread);
    // Where not all have their turn, none is preferred.
    for (size_t i = chosen.size(); i > 1; --i) std::swap(chosen[i - 1], chosen[random() % i]);
    return chosen;
}

// Threads that ran of late come first, before the rings are read: or waits that are short are over.
void Recorder::tick_with_switches(int64_t now) {
    std::vector<std::pair<int, int64_t>> looked;
    const auto late = [](const Thread& each) { return each.of_late && !each.unrecorded; };
    for (Thread* thread : in_random_order(late)) {
        if (credit_ <= 0) break;  // below is another chance
        const int64_t since = now_ns();
        Schedule schedule;
        const bool same = thread->looked && people_.schedule(*thread, schedule) == 0 &&
                          schedule.slices == thread->slices;
        if (!same && look(*thread) == Seen::waiting) looked.emplace_back(thread->tid, since);
        spend(since);
    }
    drain();
    for (const auto& [tid, time] : looked)
        if (Thread* thread = people_.find(tid))
            if (thread->last <= time && thread->state == State::waiting) thread->looked = true;
    std::vector<int> gone;
    const auto due = [](const Thread& each) {
        return !each.unrecorded && (each.ran || each.of_late || is_due(each));
    };
    for (Thread* thread : in_random_order(due)) {
        const bool wanted = !thread->of_late && is_due(*thread);
        thread->of_late = thread->ran;
        if (!thread->ran && !wanted) continue;
        if (credit_ <= 0) {
            thread->of_late = false;
            thread->missed |= wanted;
            continue;
        }
        const int64_t since = now_ns();
        if (thread->ran) read_schedule(*thread, since, false);
        thread->ran = false;
        if (wanted) {
            const Seen seen = look(*thread);
            thread->looked = seen == Seen::waiting || seen == Seen::refused;
            if (seen == Seen::gone) gone.push_back(thread->tid);
        }
        spend(since);
    }
    end_threads(gone, false);
    settle_exits();
    if (unrecorded_) {
        gone.clear();
        scanner_.scan(now, true);
        for (Thread* thread : in_random_order([](const Thread& each) { return each.unrecorded; }))
            step_without(*thread, gone);
        end_threads(gone, true);
    }
    watch_rate(now);
}

// The scheduler's count of slices tells cheaply who has run.
void Recorder::tick_without(int64_t now) {
    drain();
    settle_exits();
    if (!rings_ || unrecorded_) scanner_.scan(now, rings_ != nullptr);
    const size_t known = people_.threads().size();
    const auto due = [&](const Thread& each) {
        return known <= read_always || each.of_late || each.ran || random() % known < read_in_turn;
    };
    std::vector<int> gone;
    for (Thread* thread : in_random_order(due)) step_without(*thread, gone);
    end_threads(gone, !rings_);
    log_.settle(now);
}

void Recorder::step_without(Thread& thread, std::vector<int>& gone) {
    if (credit_ <= 0) {
        thread.missed = true;
        return;
    }
    const int64_t since = now_ns();
    const uint64_t slices = thread.slices;
    thread.ran = false;
    read_schedule(thread, since, false);
    if (thread.slices == ~uint64_t{0} || thread.pid == 0) {
        gone.push_back(thread.tid);
    } else {
        thread.of_late = thread.ran || thread.slices != slices;
        if (thread.of_late) note_miss(thread);
        if (thread.of_late || !thread.looked) {
            const Seen seen = look(thread);
            thread.looked = seen == Seen::waiting || seen == Seen::refused;
            if (seen == Seen::running)
                log_.add(Moment{since, Kind::wait, 0, 0, thread.pid, thread.tid, -1, 0, 0});
            if (seen == Seen::gone) gone.push_back(thread.tid);
        }
    }
    spend(since);
}

// `tell`: no record of the kernel does.
void Recorder::end_threads(const std::vector<int>& gone, bool tell) {
    for (const int tid : gone) {
        const Thread* thread = people_.find(tid);
        if (!thread) continue;
        if (tell) {
            log_.add(Moment{now_ns(), Kind::exit, 0, 0, thread->pid, tid, -1, 0, 0});
            if (people_.find_process(tid)) dead_.emplace_back(now_ns(), tid);
        }
        people_.forget(tid);
    }
}

// A wait has ended: it may have been one that nobody looked at for lack of time.
void Recorder::note_miss(Thread& thread) {
    skipped_ += thread.missed && !thread.looked;
    thread.missed = false;
}

Seen Recorder::look(Thread& thread) {
    Process* process = people_.find_process(thread.pid);
    if (process && process->refused) return Seen::refused;
    const Seen seen = looker_.look(thread, now_ns());
    if (seen == Seen::refused && process) {
        process->refused = true;
        refused_.insert(process->comm);
    }
    return seen;
}

// Where it has gone, its slices are unknown again.
void Recorder::read_schedule(Thread& thread, int64_t now, bool always) {
    Schedule schedule;
    if (people_.schedule(thread, schedule)) {
        thread.slices = ~uint64_t{0};
        return;
    }
    const bool ran = schedule.slices != thread.slices || schedule.on != thread.on;
    thread.slices = schedule.slices;
    thread.on = schedule.on;
    if (!ran && !always) return;
    thread.ran = ran;
    log_.add(Moment{now, Kind::sched, 0, 0, thread.pid, thread.tid, static_cast<int32_t>(schedule.slices),
                    static_cast<int64_t>(schedule.on), static_cast<int64_t>(schedule.delay)});
}

// Records of switches cost the program itself a microsecond each.
void Recorder::watch_rate(int64_t now) {
    const int64_t window = now - rate_since_;
    if (window < rate_window / haste) return;
    uint64_t most = 0;
    for (const auto& [cpu, count] : switched_) most = std::max(most, count);
    const double rate = static_cast<double>(most) * 1e9 / static_cast<double>(window);
    if (window < rate_window && rate < haste * options_.most_switches) return;
    switched_.clear();
    rate_since_ = now;
    if (rate < options_.most_switches) return;
    rings_->stop_switches();
    drain();
    switches_ = false;
    switches_stopped_ = true;
    log_.add(Moment{now_ns(), Kind::unswitched, 0, 0, options_.root, 0, -1, 0, 0});
    for (auto& [tid, thread] : people_.threads()) {
        thread.state = State::unknown;
        thread.looked = false;
        thread.ran = true;
    }
}

// Processes are kept a while after their end: samples of them may still come.
void Recorder::bury(int64_t now) {
    const auto old = std::partition(dead_.begin(), dead_.end(), [&](const auto& each) {
        return now - each.first < buried_after;
    });
    for (auto each = old; each != dead_.end(); ++each) {
        if (!has_gone(each->second)) continue;
        people_.forget_process(each->second);
        looker_.forget(each->second);
    }
    dead_.erase(old, dead_.end());
}

}  // namespace gnomon::account
