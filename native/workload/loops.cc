// Workloads that are one loop over memory.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "workload/feed.hh"

namespace gnomon::workload {

namespace {

// Sattolo's algorithm: all nodes are on one cycle, so that a chase visits every one of them.
std::vector<uint32_t> cycle_of(uint64_t nodes, Random random) {
    std::vector<uint32_t> next(nodes);
    std::iota(next.begin(), next.end(), 0);
    for (uint64_t i = nodes - 1; i > 0; --i) std::swap(next[i], next[random.below(i)]);
    return next;
}

struct Strided {
    uint64_t side, stride, iterations, matrix, sums;
    uint32_t threads;
    bool columns;
    Init init;
};

Steps strided_sum_thread(Out& out, uint32_t thread, Strided p) {
    enum { init = 1, sum, outer, result };
    const std::vector<uint64_t> arrays{p.matrix};
    co_await out.call(prepare(out, p.init, thread, p.threads, arrays, p.side * p.side, 4, init));
    const uint64_t from = share(p.side, p.threads, thread);
    const uint64_t to = share(p.side, p.threads, thread + 1);
    const uint64_t outer_bytes = 4 * (p.columns ? 1 : p.side);
    const uint64_t inner_bytes = 4 * (p.columns ? p.side : 1);
    for (uint64_t round = 0; round < p.iterations; ++round) {
        for (uint64_t o = from; o < to; ++o) {
            for (uint64_t i = 0; i < p.side; i += p.stride) {
                out.load(p.matrix + o * outer_bytes + i * inner_bytes, 4, sum);
                out.count(Code::fp_multiply, 1, sum);
                out.count(Code::fp_add, 1, sum);
                out.turn(i + p.stride < p.side, sum, 2);
                co_await out.pause();
            }
            out.turn(o + 1 < to, outer);
        }
        out.store(p.sums + 64 * thread, 4, result);
        out.barrier(p.threads);
    }
}

struct Chase {
    uint64_t iterations, spacing, base;
    uint32_t threads;
    std::shared_ptr<const std::vector<uint32_t>> next;
};

Steps chase_thread(Out& out, uint32_t thread, Chase p) {
    const std::vector<uint32_t>& next = *p.next;
    const uint64_t steps = next.size() * p.iterations;
    uint64_t at = share(next.size(), p.threads, thread);
    for (uint64_t step = 0; step < steps; ++step) {
        out.load(p.base + at * p.spacing, 8, 1, waits);
        out.turn(step + 1 < steps, 1);
        at = next[at];
        co_await out.pause();
    }
}

struct Stream {
    uint64_t count, unroll, iterations;
    uint32_t threads;
    bool triad;
    Init init;
    std::vector<uint64_t> bases;
};

Steps stream_thread(Out& out, uint32_t thread, Stream p) {
    enum { init = 1, loop };
    co_await out.call(prepare(out, p.init, thread, p.threads, p.bases, p.count, 8, init));
    const uint64_t from = share(p.count, p.threads, thread);
    const uint64_t to = share(p.count, p.threads, thread + 1);
    for (uint64_t round = 0; round < p.iterations; ++round) {
        for (uint64_t i = from; i < to; i += p.unroll) {
            const uint64_t end = std::min(i + p.unroll, to);
            for (uint64_t k = i; k < end; ++k) out.load(p.bases[1] + 8 * k, 8, loop);
            if (p.triad) {
                for (uint64_t k = i; k < end; ++k) out.load(p.bases[2] + 8 * k, 8, loop);
                out.count(Code::fp_multiply, end - i, loop);
                out.count(Code::fp_add, end - i, loop);
            }
            for (uint64_t k = i; k < end; ++k) out.store(p.bases[0] + 8 * k, 8, loop);
            out.turn(end < to, loop);
            co_await out.pause();
        }
        out.barrier(p.threads);
    }
}

struct Access {
    uint64_t items, spacing, accesses, writes, seed, base;
    bool dependent;
    std::shared_ptr<const std::vector<double>> cumulated;  // for zipf
    std::shared_ptr<const std::vector<uint32_t>> places;
};

Steps access_thread(Out& out, uint32_t thread, Access p) {
    Random random(p.seed, thread + 1);
    const uint8_t flags = p.dependent ? waits : 0;
    for (uint64_t i = 0; i < p.accesses; ++i) {
        uint64_t item;
        if (p.cumulated) {
            const auto& sums = *p.cumulated;
            const auto found =
                std::upper_bound(sums.begin(), sums.end() - 1, random.unit() * sums.back());
            item = (*p.places)[found - sums.begin()];
        } else {
            item = random.below(p.items);
        }
        const bool writing = random.below(100) < p.writes;
        out.count(Code::integer, 4, 1);
        out.count(Code::multiply, 2, 1);
        if (writing)
            out.store(p.base + item * p.spacing, 8, 1);
        else
            out.load(p.base + item * p.spacing, 8, 1, flags);
        out.turn(i + 1 < p.accesses, 1);
        co_await out.pause();
    }
}

struct Sharing {
    uint64_t words, spacing, iterations, base;
    uint32_t threads;
};

Steps false_sharing_thread(Out& out, uint32_t thread, Sharing p) {
    for (uint64_t i = 0; i < p.iterations; ++i) {
        const uint64_t address = p.base + (i % p.words * p.threads + thread) * p.spacing;
        out.load(address, 8, 1, waits);
        out.count(Code::integer, 1, 1);
        out.store(address, 8, 1);
        out.turn(i + 1 < p.iterations, 1);
        co_await out.pause();
    }
}

struct Handover {
    uint64_t words, slots, items, slot_bytes, base;
};

// Two threads meet after each item; meanwhile the producer is at the next slot.
Steps producer_consumer_thread(Out& out, uint32_t thread, Handover p) {
    enum { produce = 1, consume, item };
    const uint64_t pair = thread / 2;
    const bool producer = thread % 2 == 0;
    const uint64_t slots = p.base + pair * p.slots * p.slot_bytes;
    for (uint64_t i = 0; i < p.items; ++i) {
        const uint64_t slot = slots + i % p.slots * p.slot_bytes;
        if (!producer) out.barrier(2, pair + 1);
        for (uint64_t k = 0; k < p.words; ++k) {
            if (producer) {
                out.count(Code::integer, 1, produce);
                out.store(slot + 8 * k, 8, produce);
            } else {
                out.load(slot + 8 * k, 8, consume);
                out.count(Code::integer, 1, consume);
            }
            out.turn(k + 1 < p.words, producer ? produce : consume);
            co_await out.pause();
        }
        if (producer) out.barrier(2, pair + 1);
        out.turn(i + 1 < p.items, item);
    }
}

struct Ramp {
    uint64_t touches, touch, steps, pause_ns, compute, working_words, memory, work, work_stride;
    uint32_t threads;
};

Steps ramp_compute_thread(Out& out, uint32_t thread, Ramp p) {
    enum { grow = 1, compute };
    if (thread == 0) {
        for (uint64_t step = 0; step < p.steps; ++step) {
            const uint64_t from = share(p.touches, p.steps, step);
            const uint64_t to = share(p.touches, p.steps, step + 1);
            out.count(Code::grow, (to - from) * p.touch, grow);
            for (uint64_t i = from; i < to; ++i) {
                out.store(p.memory + i * p.touch, 8, grow);
                out.turn(i + 1 < to, grow);
                co_await out.pause();
            }
            out.count(Code::sleep, p.pause_ns, grow);
        }
    }
    out.barrier(p.threads);
    const uint64_t mine = p.work + thread * p.work_stride;
    for (uint64_t i = 0; i < p.compute; ++i) {
        out.load(mine + i % p.working_words * 8, 8, compute);
        out.count(Code::fp_multiply, 1, compute);
        out.count(Code::fp_add, 1, compute);
        out.turn(i + 1 < p.compute, compute);
        co_await out.pause();
    }
    out.barrier(p.threads);
}

struct Product {
    uint64_t side, block, iterations;
    uint32_t threads;
    uint64_t a, b, c;
};

Steps matmul_thread(Out& out, uint32_t thread, Product p) {
    enum { inner = 1, element, blocks };
    const uint64_t count = p.side / p.block;
    const uint64_t last = share(count, p.threads, thread + 1);
    for (uint64_t round = 0; round < p.iterations; ++round) {
        for (uint64_t ib = share(count, p.threads, thread); ib < last; ++ib)
            for (uint64_t jb = 0; jb < count; ++jb)
                for (uint64_t kb = 0; kb < count; ++kb) {
                    for (uint64_t i = ib * p.block; i < (ib + 1) * p.block; ++i)
                        for (uint64_t j = jb * p.block; j < (jb + 1) * p.block; ++j) {
                            out.load(p.c + 8 * (i * p.side + j), 8, element);
                            for (uint64_t k = kb * p.block; k < (kb + 1) * p.block; ++k) {
                                out.load(p.a + 8 * (i * p.side + k), 8, inner);
                                out.load(p.b + 8 * (k * p.side + j), 8, inner);
                                out.count(Code::fp_multiply, 1, inner);
                                out.count(Code::fp_add, 1, inner);
                                out.turn((k + 1) % p.block != 0, inner, 2);
                            }
                            out.store(p.c + 8 * (i * p.side + j), 8, element);
                            out.turn((j + 1) % p.block != 0, element);
                            co_await out.pause();
                        }
                    out.turn(kb + 1 < count, blocks, 3);
                }
        out.barrier(p.threads);
    }
}

}  // namespace

Feeds strided_sum(const Settings& s) {
    return feeds_of(s.threads(), strided_sum_thread,
                    Strided{s["size"], s["stride"], s["iterations"], s.bases[0], s.bases[1],
                            s.threads(), s["order"] == 1, Init{s["init"]}});
}

Feeds chase(const Settings& s) {
    auto next = std::make_shared<const std::vector<uint32_t>>(
        cycle_of(s["size"] / s["spacing"], Random(s["seed"], 0)));
    return feeds_of(s.threads(), chase_thread,
                    Chase{s["iterations"], s["spacing"], s.bases[0], s.threads(), next});
}

Feeds stream(const Settings& s) {
    return feeds_of(s.threads(), stream_thread,
                    Stream{s["size"] / 8, s["unroll"], s["iterations"], s.threads(),
                           s.bases.size() == 3, Init{s["init"]}, s.bases});
}

Feeds random_access(const Settings& s) {
    return feeds_of(s.threads(), access_thread,
                    Access{s["size"] / 8, 8, s["accesses"], s["writes"], s["seed"], s.bases[0],
                           s["dependent"] != 0, nullptr, nullptr});
}

Feeds zipf(const Settings& s) {
    const uint64_t items = s["size"] / s["spacing"];
    const double exponent = s.real.at("exponent");
    std::vector<double> sums(items);
    double sum = 0;
    for (uint64_t i = 0; i < items; ++i)
        sums[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
    // Items that are used often are not neighbours.
    std::vector<uint32_t> places(items);
    std::iota(places.begin(), places.end(), 0);
    Random random(s["seed"], 0);
    for (uint64_t i = items - 1; i > 0; --i) std::swap(places[i], places[random.below(i + 1)]);
    return feeds_of(s.threads(), access_thread,
                    Access{items, s["spacing"], s["accesses"], s["writes"], s["seed"], s.bases[0],
                           false, std::make_shared<const std::vector<double>>(std::move(sums)),
                           std::make_shared<const std::vector<uint32_t>>(std::move(places))});
}

Feeds false_sharing(const Settings& s) {
    return feeds_of(s.threads(), false_sharing_thread,
                    Sharing{s["size"] / 8, s["spacing"], s["iterations"], s.bases[0], s.threads()});
}

Feeds producer_consumer(const Settings& s) {
    const uint64_t slot = (s["size"] + 63) / 64 * 64;
    return feeds_of(s.threads(), producer_consumer_thread,
                    Handover{s["size"] / 8, s["slots"], s["iterations"], slot, s.bases[0]});
}

Feeds ramp_compute(const Settings& s) {
    return feeds_of(s.threads(), ramp_compute_thread,
                    Ramp{s["size"] / s["touch"], s["touch"], s["steps"], s["pause"],
                         s["iterations"], s["working"] / 8, s.bases[0], s.bases[1],
                         s["private_stride"], s.threads()});
}

Feeds matmul(const Settings& s) {
    return feeds_of(s.threads(), matmul_thread,
                    Product{s["size"], s["block"], s["iterations"], s.threads(), s.bases[0],
                            s.bases[1], s.bases[2]});
}

}  // namespace gnomon::workload
