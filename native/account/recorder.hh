// Records where the wall time of a program goes, from a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "account/look.hh"
#include "account/resources.hh"
#include "account/rings.hh"
#include "account/scanner.hh"
#include "account/timer_samples.hh"

namespace gnomon::account {

struct RecorderOptions {
    int root = 0;               // process; 0: whatever runs on the CPUs
    bool started = false;       // by us: it is held, and will call exec
    bool perf = true;
    RingOptions rings;          // CPUs, tasks, kernel, stacks
    int timer_fd = -1;          // memory that a timer in the program writes samples to
    std::vector<int> idle_cpus;  // allowed; empty: all
    std::vector<std::string> quotas, folders;
    size_t memory = size_t{256} << 20;
    int64_t tick_from = 5'000'000, tick_to = 15'000'000;  // ns
    double looking = 0.015;     // share of a CPU for looks and schedules
    double most_switches = 15'000;  // per second and CPU
    size_t descriptors = 256;   // that may be kept open
};

class Recorder {
  public:
    // Throws perf's OpenFailure where perf was asked for and is refused.
    Recorder(std::shared_ptr<frames::Library> library,
             std::shared_ptr<frames::PythonFunctions> functions, RecorderOptions options);
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    // Begins; the program is let go after this.
    void start();
    // Waits for the end of the program; false when the time was over first.
    bool wait(int64_t timeout_ns);
    // Ends recording, whether or not the program has ended.
    void stop();

    const Log& log() const { return log_; }
    int64_t started() const { return started_; }
    int64_t ended() const { return ended_; }
    bool sees_kernel() const { return sees_kernel_; }
    size_t ring_pages() const { return ring_pages_; }
    bool records_switches() const { return options_.perf && options_.rings.switches; }
    bool has_unrecorded() const { return unrecorded_; }
    bool switches_stopped() const { return switches_stopped_; }
    uint64_t samples() const { return samples_; }
    uint64_t truncated() const { return truncated_; }
    uint64_t lost() const { return lost_; }
    uint64_t skipped() const { return skipped_; }
    int64_t own_ns() const { return own_ns_; }
    // Programs that have the timer in them: -1 where none was asked for.
    int64_t timed_programs() const { return timer_ ? static_cast<int64_t>(timer_->head().loaded) : -1; }
    size_t left_behind() const { return left_behind_; }
    const std::set<std::string>& refused() const { return refused_; }

  private:
    void run();
    void prepare_thread();
    void loop();
    void tick();
    void tick_with_switches(int64_t now);
    void tick_without(int64_t now);
    void step_without(Thread& thread, std::vector<int>& gone);
    void end_threads(const std::vector<int>& gone, bool tell);
    void settle_exits();
    void drain();
    void finish();
    void handle(const Record& record);
    void handle_switch(const Record& record);
    void handle_fork(const Record& record);
    void handle_exit(const Record& record);
    void handle_comm(const Record& record);
    void name_program(const Record& record);
    void handle_sample(const Record& record, int source);
    void take_timer_samples();
    int32_t unwind(Process& process, int tid, const frames::Registers& registers, frames::Bytes stack,
                   frames::Bytes kernel, bool& truncated, uint8_t& ending);
    int32_t leaf(Process& process, uint64_t ip);
    Seen look(Thread& thread);
    void read_schedule(Thread& thread, int64_t now, bool always);
    void refill(int64_t now);
    bool spend(int64_t since);
    void watch_rate(int64_t now);
    void bury(int64_t now);
    uint64_t random();
    template <typename Wanted>
    std::vector<Thread*> in_random_order(Wanted wanted);
    void note_miss(Thread& thread);

    RecorderOptions options_;
    std::shared_ptr<frames::Library> library_;
    std::shared_ptr<frames::PythonFunctions> functions_;
    Log log_;
    People people_;
    Looker looker_;
    Resources resources_;
    Scanner scanner_;
    std::unique_ptr<Rings> rings_;
    std::unique_ptr<TimerSamples> timer_;
    RecordOrder order_;

    int pidfd_ = -1, stop_fd_ = -1;
    int own_pid_ = 0;
    bool switches_ = false, python_seen_ = false;
    int64_t started_ = 0, ended_ = 0, own_ns_ = 0;
    double credit_ = 0;  // ns that looks may take
    int64_t refilled_ = 0;
    uint64_t samples_ = 0, truncated_ = 0, lost_ = 0, skipped_ = 0, random_ = 1;
    size_t left_behind_ = 0, ring_pages_ = 0;
    bool sees_kernel_ = false;
    bool switches_stopped_ = false;
    std::unordered_map<uint32_t, uint64_t> switched_;  // by CPU, since rate_since_
    int64_t rate_since_ = 0;
    std::vector<std::pair<int64_t, int>> dead_;  // processes to be forgotten
    std::vector<Moment> doubtful_;  // ends that may be those of our events alone
    bool unrecorded_ = false;       // there are processes that only /proc tells of
    std::set<std::string> refused_;

    frames::Walk walk_;
    std::vector<uint32_t> numbers_;
    std::vector<frames::PythonFrame> python_;

    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable done_;
    bool finished_ = false;
    std::atomic<bool> stopping_ = false;
};

}  // namespace gnomon::account
