// What a simulated thread executes: a sequence of operations that is pulled in pieces.
//
// Workload generators and traces of real programs make such sequences, the engine executes
// them; neither knows more of the other than this file says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gnomon::machine {

enum class Code : uint8_t {
    // References: `value` is an address, `size` bytes are touched. An atomic reads and writes.
    load,
    store,
    fetch,
    atomic,
    // Instructions without a reference: `value` of them in a row, of one class.
    integer,
    multiply,
    fp_add,
    fp_multiply,
    fp_divide,
    branch_taken,
    branch_not_taken,
    special,
    other,
    // The privilege level from here on; a thread begins as user.
    user,
    supervisor,
    hypervisor,
    // Synchronisation in simulated time: `value` names the barrier or lock, `site` is the
    // number of threads that meet at a barrier, or which turn it is at a lock, from 1 up; with
    // turn 0 who comes first gets it. `start` and `join` name a thread.
    barrier,
    lock,
    unlock,
    start,
    join,
    // The thread may be blocked for real (a traced program): do not wait for what it does next.
    away,
    // `value` nanoseconds of not running; bytes that the program takes or gives back.
    sleep,
    grow,
    shrink,
    // `value` is the address of the function that is executed from here on; its caller's again.
    enter,
    leave,
    size
};

// The thread waits for the result before it goes on; otherwise it may run ahead.
constexpr uint8_t waits = 1;
// A machine that emulates some floating-point instructions traps here.
constexpr uint8_t traps = 2;
// A reference of the same instruction as the one before it: no instruction of its own.
constexpr uint8_t continued = 4;

struct Op {
    uint64_t value = 0;
    uint32_t site = 0;  // where in the program: the number of a statement, 0 when unknown
    Code code = Code::other;
    uint8_t size = 0;
    uint8_t flags = 0;
    uint8_t spare = 0;
};
static_assert(sizeof(Op) == 16);

enum class Supply : uint8_t { more, pending, ended };

// One thread's operations. Feeds of different threads are independent of each other: what one
// gives does not depend on how far others were pulled, or same seed would not mean same bytes.
class Feed {
  public:
    virtual ~Feed() = default;
    // Writes up to `room` operations that follow the last ones and says how many in `given`.
    // `pending`: nothing more can be given now (a program that still runs), `ended`: ever.
    virtual Supply pull(Op* into, size_t room, size_t& given) = 0;
    // Waits until a pending feed has more, at most so long; false when it still has not.
    virtual bool wait(int milliseconds) {
        (void)milliseconds;
        return true;
    }
};

}  // namespace gnomon::machine
