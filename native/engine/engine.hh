// The execution of threads on a simulated machine, in simulated time.
//
// Software threads (tasks) run on the hardware threads of a System. At every moment the
// earliest acts next, of equal ones the one with the lowest number, so that the same feeds and
// seed give the same bytes however often the execution is stopped and continued.
//   engine/engine.cc        who acts next
//   engine/thread.cc what a thread of a simple or SMT core does in its turn
//   engine/strand.cc the same for a core whose strands share pipelines cycle by cycle
//   engine/sync.cc   barriers, locks, threads that start and join others
//   engine/os.cc     which task runs where, and for how long
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/program.hh"
#include "machine/system.hh"
#include "engine/task.hh"
#include "machine/turns.hh"
#include "engine/watch.hh"

namespace gnomon::machine {

constexpr size_t instruction_classes =
    static_cast<size_t>(Code::other) - static_cast<size_t>(Code::integer) + 1;

constexpr Tick solo_speed = 1'000'000;

enum class Pipeline : uint8_t {
    simple,  // threads of a core do not disturb each other
    smt,     // all are slower the more there are
    cmt      // groups of strands issue an instruction a cycle and share two units
};

struct EngineSpec {
    Pipeline pipeline = Pipeline::simple;
    uint32_t groups = 1;                             // of a core's strands
    std::array<Tick, instruction_classes> cost{};    // of one instruction to its thread
    std::vector<uint32_t> speeds;                    // of each of n threads of a core, in solo_speed
    Tick mispredict = 0;
    uint64_t text_base = 0;       // where the code of site 0 would be
    uint32_t text_bytes = 4;      // of a site
    uint64_t ticks_per_us = 0;
    uint32_t trap_instructions = 0;  // that emulate one; 0: no traps
    Tick slice = 0;
    Tick switch_cost = 0;
    Tick noise_period = 0;  // on average; 0: none
    Tick noise_length = 0;
    Tick quantum = 0;
    bool dynamic = false;
    uint64_t seed = 1;
};

// Threads that all wait for each other, or ask for what makes no sense.
class ExecutionError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Engine {
  public:
    enum class Outcome : uint8_t { ended, reached, interrupted };
    static constexpr double endless = 1e18;  // seconds

    Engine(System& system, const EngineSpec& spec, const std::vector<Feed*>& feeds,
           const std::vector<uint32_t>& binding);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

    // Until all threads have ended, until the time is reached, or for about so many seconds
    // of real time; who limits that also gets the chance to take samples before any is lost.
    Outcome advance(Tick until, double seconds);
    Tick now() const { return now_; }
    // All counts as they are now, LedgerCount::size a mode a task.
    const std::vector<uint64_t>& ledger();
    // Cycles in which no thread of a core could run.
    std::vector<uint64_t> idle_cycles();
    const std::vector<Task>& tasks() const { return tasks_; }
    int64_t footprint() const { return footprint_; }
    uint64_t noise_events() const { return noise_events_; }
    Watches& watches() { return watches_; }

  private:
    static constexpr size_t units = 2;  // of a core, shared by its groups: LSU and FGU
    static constexpr size_t most_groups = 4;
    static constexpr size_t most_strands = 16;
    enum class Unit : uint8_t { lsu, fgu, none };

    struct Hardware {
        Task* task = nullptr;
        Task* last = nullptr;  // what it ran before
        uint32_t core = 0, node = 0, group = 0;
    };
    // Cycles in which strands took turns at simple work, as long as nothing came between.
    struct Rounds {
        int64_t first = 0, cycles = 0;
        uint64_t ready = 0;                           // strands, as bits
        std::array<uint32_t, most_groups> size{};     // strands of a group
        std::array<uint32_t, most_strands> rank{};    // of a strand in its group
        std::array<int64_t, most_strands> issued{};   // its last instruction before
    };
    // A core as the scheduler of tasks and the pipeline see it.
    struct CoreState {
        uint32_t first = 0, threads = 0;  // of the hardware
        uint32_t running = 0;
        Tick idle_since = 0, idle = 0;  // for cores without cycle-by-cycle simulation
        // For strands, in cycles:
        int64_t next = 0;  // the first that is not simulated yet
        int64_t busy = 0;  // how many had a strand that could issue
        Rounds rounds;     // the latest, if they end at `next`
        std::array<std::array<int64_t, most_groups>, units> used{};  // by a group, the last time
    };
    struct Strand {
        int64_t issued = -1;    // the cycle of its last instruction
        bool prepared = false;  // its next operation is an instruction that is fetched
    };
    struct Barrier {
        std::vector<Task*> waiting;
        Tick latest = 0;
        uint32_t expected = 0;
    };
    struct Lock {
        Task* holder = nullptr;
        std::deque<std::pair<Task*, uint32_t>> waiting;  // with their turns
        uint32_t turn = 1;                               // that comes next
        Tick free = 0;                                   // since when, if nobody holds it

        bool admits(uint32_t wanted) const { return !wanted || wanted == turn; }
        void pass(uint32_t taken) {
            if (taken && ++turn == 0) turn = 1;
        }
    };
    struct Wake {
        Tick time;
        uint64_t order;
        Task* task;
        bool operator>(const Wake& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    enum class Step : uint8_t { next, gone };  // gone: end the turn

    // engine/engine.cc
    uint32_t actor_of(uint32_t hardware) const;
    void arrange(uint32_t actor);
    void act_at(uint32_t actor, Tick time);
    Tick next_event() const;
    void take_turn(Tick until);
    void look_for_returned();
    void wait_for_program();
    bool refill(Task& task);
    void account(Task& task, Tick now);
    void set_mode(Task& task, Thread& thread, Mode mode);
    void expand_trap(Task& task);

    // engine/thread.cc
    template <bool Watched>
    void run_thread(uint32_t hardware, Tick end, Tick cut);
    template <bool Watched>
    void reference(Task& task, Thread& thread, const Op& op);
    template <bool Watched>
    void instructions(Task& task, Thread& thread, Op& op, Tick cut);
    template <bool Watched>
    uint64_t execute(Task& task, Thread& thread, const Op& op, uint64_t most, Tick cost);
    template <bool Watched>
    void fetch(Task& task, Thread& thread, const Op& op);
    template <bool Watched>
    void observe(Task& task, Thread& thread, const Op& op, uint64_t count, const Access* found);
    Tick solo_cost(Code code) const {
        return spec_.cost[static_cast<size_t>(code) - static_cast<size_t>(Code::integer)];
    }
    static uint64_t& class_count(Task& task, Code code) {
        const size_t number = static_cast<size_t>(code) - static_cast<size_t>(Code::integer);
        return task.count(
            static_cast<LedgerCount>(static_cast<size_t>(LedgerCount::integer) + number));
    }
    // What costs a thread so much alone, when so many threads of an SMT core run.
    Tick slowed(Tick cost, uint32_t running) const {
        const Tick speed = spec_.speeds[running - 1];
        return std::max<Tick>(1, (cost * solo_speed + speed / 2) / speed);
    }
    Tick shared_cost(Task& task, const Op& op, uint32_t running);
    template <bool Watched>
    void follow_code(Task& task, Thread& thread, const Op& op) {
        const uint64_t address = spec_.text_base + uint64_t{op.site} * spec_.text_bytes;
        const uint64_t line = address >> code_shift_;
        if (line == task.code_line || task.fetches) return;
        task.code_line = line;
        system_.fetch_ahead(thread, address);
        observe<Watched>(task, thread, op, 0, nullptr);
    }

    // engine/strand.cc
    template <bool Watched>
    void run_core(uint32_t core, Tick end, Tick cut);
    template <bool Watched>
    uint64_t prepare_all(const CoreState& core, int64_t cycle);
    template <bool Watched>
    bool prepare(uint32_t hardware, int64_t cycle);
    Unit unit_of(Code code) const;
    uint32_t choose_strand(const CoreState& core, uint32_t group, uint64_t ready) const;
    template <bool Watched>
    void issue(uint32_t hardware, int64_t cycle);
    int64_t next_cycle(const CoreState& core) const;
    bool issue_alone(CoreState& core, int64_t cycle, uint64_t ready, Tick end);
    bool issue_rounds(CoreState& core, int64_t cycle, uint64_t ready, Tick cut);
    void set_rounds(CoreState& core, int64_t cycles);
    void rewind(CoreState& core, Tick now);
    using Chosen = std::array<uint32_t, most_groups>;  // strands, or nowhere
    void arbitrate(CoreState& core, int64_t cycle, uint64_t ready, Chosen& chosen);
    // How many cycles begin before a time.
    static int64_t cycles_before(Tick time) {
        return time / ticks_per_cycle + (time % ticks_per_cycle > 0);
    }

    // engine/sync.cc: what is no instruction; `gone` when others may act now
    Step control(Task& task, Thread& thread, const Op& op);
    Step meet(Task& task, Thread& thread, uint64_t id, uint32_t participants);
    Step take_lock(Task& task, uint64_t id, uint32_t turn);
    bool hand_over(Lock& lock);
    bool skip_turns();
    void release_locks_of(const Task& task);
    Step give_lock(Task& task, Thread& thread, uint64_t id);
    Step start(Task& task, Thread& thread, uint64_t id);
    Step join(Task& task, Thread& thread, uint64_t id);
    Task& task_named(const Task& by, const char* deed, uint64_t id);
    void end_task(Task& task, Thread& thread);
    [[noreturn]] void report_deadlock() const;

    // engine/os.cc
    void make_ready(Task& task, Tick now);
    Step block(Task& task, TaskState state, uint64_t object);
    void leave(Task& task);
    void run_on(Task& task, uint32_t hardware, Tick now);
    uint32_t idle_place(const Task& task, Tick now) const;
    bool somebody_waits_for(uint32_t hardware) const;
    bool is_finished(Task& task);
    bool end_slice(uint32_t hardware);
    void change_running(uint32_t hardware, int change, Tick now);
    void process_event();
    void make_noise(Tick now);
    Tick draw_noise();

    System& system_;
    EngineSpec spec_;
    uint32_t code_shift_ = 5;
    std::vector<Task> tasks_;
    std::vector<uint64_t> cells_;
    std::vector<Hardware> hardware_;
    std::vector<CoreState> cores_;
    std::vector<Strand> strands_;
    std::vector<uint32_t> node_running_;
    std::vector<uint32_t> group_running_;
    Turns turns_;
    std::deque<Task*> queue_;
    std::vector<Wake> wakes_;  // a heap
    uint64_t wake_order_ = 0;
    std::map<uint64_t, Barrier> barriers_;
    std::map<uint64_t, Lock> locks_;
    size_t alive_ = 0;
    uint64_t changes_ = 0;  // of which task runs where
    std::vector<Task*> away_;  // whose program may be blocked for real
    Task* starved_ = nullptr;  // who needs operations that its program has not made yet
    Tick now_ = 0;
    Tick next_noise_ = never;
    uint32_t data_line_ = 64;
    Tick data_latency_ = 0;
    Random noise_random_;
    uint64_t noise_events_ = 0;
    int64_t footprint_ = 0;
    Watches watches_;
};

}  // namespace gnomon::machine
