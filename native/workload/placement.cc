// Workloads whose speed depends on where their memory is placed.
#include "workload/feed.hh"

namespace gnomon::workload {

namespace {

struct Table {
    uint64_t touches, touch, words, accesses, writes, seed, base;
    uint32_t threads;
};

// The first thread sets the table up, and thereby places it; then all look up at random.
Steps hot_table_thread(Out& out, uint32_t thread, Table p) {
    enum { init = 1, look_up };
    if (thread == 0)
        for (uint64_t i = 0; i < p.touches; ++i) {
            out.store(p.base + i * p.touch, 8, init);
            out.turn(i + 1 < p.touches, init);
            co_await out.pause();
        }
    out.barrier(p.threads);
    Random random(p.seed, thread + 1);
    for (uint64_t i = 0; i < p.accesses; ++i) {
        const uint64_t address = p.base + 8 * random.below(p.words);
        const bool writing = random.below(100) < p.writes;
        out.count(Code::integer, 4, look_up);
        out.count(Code::multiply, 2, look_up);
        if (writing)
            out.store(address, 8, look_up);
        else
            out.load(address, 8, look_up);
        out.turn(i + 1 < p.accesses, look_up);
        co_await out.pause();
    }
}

struct Relay {
    uint64_t items, spacing, iterations, base;
    uint32_t threads;
};

// One thread after the other has the whole array to itself.
Steps relay_thread(Out& out, uint32_t thread, Relay p) {
    for (uint32_t turn = 0; turn < p.threads; ++turn) {
        for (uint64_t round = 0; turn == thread && round < p.iterations; ++round)
            for (uint64_t i = 0; i < p.items; ++i) {
                out.load(p.base + p.spacing * i, 8, 1);
                out.count(Code::fp_add, 1, 1);
                out.store(p.base + p.spacing * i, 8, 1);
                out.turn(i + 1 < p.items, 1);
                co_await out.pause();
            }
        out.barrier(p.threads);
    }
}

}  // namespace

Feeds hot_table(const Settings& s) {
    return feeds_of(s.threads(), hot_table_thread,
                    Table{(s["size"] / 8 * 8 + s["touch"] - 1) / s["touch"], s["touch"],
                          s["size"] / 8, s["accesses"], s["writes"], s["seed"], s.bases[0], s.threads()});
}

Feeds relay(const Settings& s) {
    return feeds_of(s.threads(), relay_thread,
                    Relay{s["size"] / s["spacing"], s["spacing"], s["iterations"], s.bases[0], s.threads()});
}

}  // namespace gnomon::workload
