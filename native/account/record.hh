// What a run is recorded as: moments in order of time, and looks at threads that wait.
// src/gnomon/recording/wall.py has the same as dtypes of numpy; a test compares the two.
#pragma once

#include <cstdint>

namespace gnomon::account {

// What happened at a moment; in brackets what the fields tell beside time, CPU and thread.
enum class Kind : uint8_t {
    in = 1,      // got a CPU
    out,         // gave it up to wait
    preempted,   // lost it, and could run on
    fork,        // began [a: pid, b: tid of who made it]
    exit,        // ended
    comm,        // has a name [what: text; flags & 1: by exec]
    exe,         // the process runs this file [what: text]
    sample,      // ran, so much CPU time after the sample before [what: stack, a: address, b: period in ns;
                 //   flags: see below]
    fault,       // page-in: the fault is recorded after its wait [what: stack, a: address]
    wait,        // was looked at [what: row of waits, -1 where it was running or runnable; flags & 1:
                 //   it ran while it was looked at, so the row may tell of two moments]
    sched,       // the scheduler's own account of the thread so far [what: slices, a: ns on a CPU, b: ns
                 //   it waited for one]
    idle,        // of the CPUs allowed, so far [a: idle ns, b: ns stolen by the hypervisor]
    quota,       // throttled by a cgroup's quota, so far [a: ns, b: periods]
    peer,        // of a pipe or socket [what: text of the link, pid: who of the program holds the other
                 //   end, 0: nobody that is known; a: inode of that end, b: text of its address or -1]
    lost,        // the kernel dropped records [a: how many]
    io,          // of the process so far [a: bytes read, b: bytes written: of files, not caches]
    peak,        // of the process so far [a: most bytes of memory that were resident at once]
    unswitched,  // from here on in, out and preempted are not recorded
    end,         // the process ended [a: exit status as a shell has it, -1 unknown]
};
constexpr uint8_t last_kind = static_cast<uint8_t>(Kind::end);

// Flags of samples and faults.
constexpr uint8_t in_kernel = 1;     // the address is the kernel's
constexpr uint8_t second_clock = 2;
constexpr unsigned ending_shift = 4;  // frames::Stop of the stack

struct Moment {
    int64_t time;  // CLOCK_MONOTONIC
    Kind kind;
    uint8_t flags;
    uint16_t cpu;
    int32_t pid, tid;
    int32_t what;
    int64_t a, b;
};
static_assert(sizeof(Moment) == 40);

// How a wait can end by itself.
enum class Timed : uint8_t {
    never,
    at,       // `timeout` is a moment of CLOCK_MONOTONIC
    length,   // `timeout` is how long it lasts at most, from its start
};

// What a thread that waits is in. The arguments are those of the system call.
struct Wait {
    uint64_t args[4];
    uint64_t pc, sp;
    int64_t timeout;
    uint32_t words[4];     // at the address that a futex waits at
    int32_t nr;            // of the system call; -1: none, as in a page fault
    int32_t wchan;         // text: function of the kernel, -1 where it is not told
    int32_t links;         // text: what its descriptors are, each escaped, a space between; -1 none
    int32_t place;         // text: file+0xaddress where a futex lies, or [heap], [stack]; -1 elsewhere
    int32_t stack;         // -1: none
    int32_t holder;        // thread that has the lock, or that is waited for; 0: nobody knows
    int32_t holder_stack;  // where that thread waits itself; -1: it runs, or could not be read
    int32_t took;          // ns
    Timed timed;
    uint8_t ending;        // frames::Stop of `stack`
    uint8_t unused[6];
};
static_assert(sizeof(Wait) == 112);

// A frame of a stack. `object` is a number of the table of objects, or one of these.
constexpr int32_t python_object = -2;  // address: number of the function << 32 | line, all ones: none
constexpr int32_t kernel_object = -3;  // address: as it is

struct RecordedFrame {
    uint64_t address;   // in the file's own addresses
    uint64_t function;  // where its function begins; all ones: nobody knows
    int32_t object;
    int32_t name;       // text; -1: none
    uint8_t quality;    // frames::Quality
    uint8_t exact;      // the next instruction itself, not the one after a call
    uint8_t unused[6];
};
static_assert(sizeof(RecordedFrame) == 32);

}  // namespace gnomon::account
