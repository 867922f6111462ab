// Workloads of floating-point arithmetic on arrays: updates with known counts, and the FFT.
#include <cmath>

#include "workload/feed.hh"

namespace gnomon::workload {

namespace {

enum class Team : uint64_t { separate, master, shared };
constexpr uint64_t update_integers = 12;  // four subscripts, two of them modulo the side

// Bit 0: the first multiplication trapped, bit 1: the second, bit 2: the division.
using Trapped = std::vector<uint8_t>;

bool leaves_range(double a, double b, double result, bool lost) {
    if (std::fpclassify(a) == FP_SUBNORMAL || std::fpclassify(b) == FP_SUBNORMAL) return true;
    if (!std::isfinite(a) || !std::isfinite(b)) return false;
    return !std::isfinite(result) || std::fpclassify(result) == FP_SUBNORMAL || lost;
}

// One element of the matrix, for which the values are really computed.
uint8_t update(std::vector<double>& m, uint64_t side, uint64_t element) {
    const uint64_t i = element / side, j = element % side;
    const uint64_t ih = (i + side / 2) % side, jh = (j + side / 2) % side;
    const double first = m[i * side + j], second = m[j * side + i];
    const double third = m[ih * side + jh], fourth = m[jh * side + ih];
    const double square = first * second;
    const double cube = square * third;
    const double result = cube / fourth;
    uint8_t trapped = leaves_range(first, second, square, square == 0 && first != 0 && second != 0);
    trapped |= leaves_range(square, third, cube, cube == 0 && square != 0 && third != 0) << 1;
    trapped |= leaves_range(cube, fourth, result, result == 0 && cube != 0) << 2;
    m[i * side + j] = result;
    return trapped;
}

std::vector<double> initial(uint64_t side, double spread, Random random) {
    std::vector<double> values(side * side);
    for (double& value : values) value = 1.0 + spread * (2.0 * random.unit() - 1.0);
    return values;
}

// All threads update one matrix. Each is `lag` elements behind the one before it, which is one
// of the many ways such a race can go.
std::vector<Trapped> race(uint64_t side, uint64_t rounds, uint64_t threads, uint64_t lag,
                          std::vector<double> matrix) {
    const uint64_t elements = side * side, steps = elements * rounds;
    std::vector<Trapped> trapped(threads, Trapped(steps));
    for (uint64_t step = 0; step < steps + lag * (threads - 1); ++step)
        for (uint64_t thread = 0; thread < threads; ++thread) {
            if (step < thread * lag || step - thread * lag >= steps) continue;
            const uint64_t at = step - thread * lag;
            trapped[thread][at] = update(matrix, side, at % elements);
        }
    return trapped;
}

struct MatrixUpdate {
    uint64_t side, iterations, bookkeeping, base, private_stride, seed;
    uint32_t threads;
    Team team;
    bool references, values;
    double spread;
    std::shared_ptr<const std::vector<Trapped>> trapped;
};

enum { bookkeeping = 1, update_element, update_row };

void emit_arithmetic(Out& out, uint8_t trapped) {
    const auto flag = [&](int bit) -> uint8_t { return (trapped >> bit & 1) ? traps : 0; };
    if (flag(0) == flag(1)) {
        out.count(Code::fp_multiply, 2, update_element, flag(0));
    } else {
        out.count(Code::fp_multiply, 1, update_element, flag(0));
        out.count(Code::fp_multiply, 1, update_element, flag(1));
    }
    out.count(Code::fp_divide, 1, update_element, flag(2));
}

// A loop of so many iterations, without its references: they are `other` instructions.
void emit_operations(Out& out, uint64_t times, uint64_t integers, uint64_t references,
                     uint64_t additions, uint64_t multiplications, uint64_t divisions,
                     uint32_t site) {
    out.count(Code::other, references * times, site);
    out.count(Code::integer, integers * times, site);
    out.count(Code::fp_multiply, multiplications * times, site);
    out.count(Code::fp_add, additions * times, site);
    out.count(Code::fp_divide, divisions * times, site);
    out.count(Code::branch_taken, times - 1, site);
    out.count(Code::branch_not_taken, 1, site);
}

Steps matrix_update_thread(Out& out, uint32_t thread, MatrixUpdate p) {
    out.count(Code::other, p.bookkeeping, bookkeeping);
    if (p.team == Team::master && thread > 0) {
        out.barrier(p.threads);
        co_return;
    }
    std::vector<double> own;
    if (p.values && p.team != Team::shared) own = initial(p.side, p.spread, Random(p.seed, thread));
    const uint64_t base = p.base + (p.team == Team::separate ? thread * p.private_stride : 0);
    const uint64_t half = p.side / 2;
    uint64_t at = 0;
    for (uint64_t round = 0; round < p.iterations; ++round)
        for (uint64_t i = 0; i < p.side; ++i) {
            const uint64_t ih = (i + half) % p.side;
            if (!p.references)
                emit_operations(out, p.side, update_integers + 1, 5, 0, 2, 1, update_element);
            for (uint64_t j = 0; p.references && j < p.side; ++j, ++at) {
                const uint64_t jh = (j + half) % p.side;
                out.count(Code::integer, update_integers, update_element);
                out.load(base + 8 * (i * p.side + j), 8, update_element);
                out.load(base + 8 * (j * p.side + i), 8, update_element);
                out.load(base + 8 * (ih * p.side + jh), 8, update_element);
                out.load(base + 8 * (jh * p.side + ih), 8, update_element);
                uint8_t trapped = 0;
                if (!own.empty()) trapped = update(own, p.side, i * p.side + j);
                if (p.trapped) trapped = (*p.trapped)[thread][at];
                emit_arithmetic(out, trapped);
                out.store(base + 8 * (i * p.side + j), 8, update_element);
                out.turn(j + 1 < p.side, update_element);
                co_await out.pause();
            }
            out.turn(i + 1 < p.side, update_row);
            co_await out.pause();
        }
    out.barrier(p.threads);
}

struct VectorUpdate {
    uint64_t count, iterations, bookkeeping, base, private_stride;
    uint32_t threads;
    bool init, references;
};

Steps vector_update_thread(Out& out, uint32_t thread, VectorUpdate p) {
    enum { init = 2, element };
    out.count(Code::other, p.bookkeeping, bookkeeping);
    const uint64_t base = p.base + thread * p.private_stride;
    if (p.init && !p.references) emit_operations(out, p.count, 2, 1, 1, 1, 0, init);
    for (uint64_t i = 0; p.init && p.references && i < p.count; ++i) {
        out.count(Code::fp_multiply, 1, init);
        out.count(Code::fp_add, 1, init);
        out.store(base + 8 * i, 8, init);
        out.turn(i + 1 < p.count, init, 2);
        co_await out.pause();
    }
    for (uint64_t round = 0; round < p.iterations; ++round) {
        if (!p.references) emit_operations(out, p.count, 5, 4, 2, 3, 1, element);
        for (uint64_t i = 0; p.references && i < p.count; ++i) {
            out.count(Code::integer, 4, element);
            out.load(base + 8 * i, 8, element);
            out.load(base + 8 * ((i + 100) % p.count), 8, element);
            out.load(base + 8 * ((i + 1000) % p.count), 8, element);
            out.count(Code::fp_multiply, 3, element);
            out.count(Code::fp_add, 2, element);
            out.count(Code::fp_divide, 1, element);
            out.store(base + 8 * i, 8, element);
            out.turn(i + 1 < p.count, element);
            co_await out.pause();
        }
        co_await out.pause();
    }
    out.barrier(p.threads);
}

constexpr uint64_t complex_bytes = 16;
constexpr uint64_t transpose_block = 4;  // complex numbers of a 64-byte line

void load_complex(Out& out, uint64_t address, uint32_t site) {
    out.load(address, 8, site);
    out.load(address + 8, 8, site);
}

void store_complex(Out& out, uint64_t address, uint32_t site) {
    out.store(address, 8, site);
    out.store(address + 8, 8, site);
}

struct Fft {
    uint64_t root, iterations;
    uint32_t threads;
    uint64_t x, transposed, roots, twiddles;
    Init init;
    uint64_t copies, private_stride;  // of the roots, a thread its own; no stride without them
};

enum { fft_init = 1, transpose, reverse, butterfly, twiddle, copy_roots };

// The roots that all threads share, into this thread's own.
Steps copy_part(Out& out, Fft p, uint64_t own) {
    for (uint64_t i = 0; i + 1 < p.root; ++i) {
        load_complex(out, p.roots + complex_bytes * i, copy_roots);
        store_complex(out, own + complex_bytes * i, copy_roots);
        out.turn(i + 2 < p.root, copy_roots);
        co_await out.pause();
    }
}

// Rows of `to` from columns of `from`: those of the next thread first, so that threads do not
// all read from the same one at once.
Steps transpose_part(Out& out, uint32_t thread, Fft p, uint64_t from, uint64_t to) {
    const uint64_t rows = p.root / p.threads;
    const uint64_t block = rows < transpose_block ? rows : transpose_block;
    for (uint64_t k = 1; k <= p.threads; ++k) {
        const uint64_t owner = (thread + k) % p.threads;
        for (uint64_t jb = owner * rows; jb < (owner + 1) * rows; jb += block)
            for (uint64_t ib = thread * rows; ib < (thread + 1) * rows; ib += block)
                for (uint64_t i = ib; i < ib + block; ++i) {
                    for (uint64_t j = jb; j < jb + block; ++j) {
                        load_complex(out, from + complex_bytes * (j * p.root + i), transpose);
                        store_complex(out, to + complex_bytes * (i * p.root + j), transpose);
                        out.turn(j + 1 < jb + block, transpose, 2);
                    }
                    co_await out.pause();
                }
    }
    out.barrier(p.threads);
}

uint64_t reversed(uint64_t number, uint64_t root) {
    uint64_t result = 0;
    for (uint64_t bit = 1; bit < root; bit *= 2) result = result * 2 + (number & bit ? 1 : 0);
    return result;
}

// A transform of radix 2 in place of each row that this thread owns.
Steps transform_rows(Out& out, uint32_t thread, Fft p, uint64_t base, bool with_twiddles) {
    const uint64_t rows = p.root / p.threads;
    for (uint64_t row = thread * rows; row < (thread + 1) * rows; ++row) {
        const uint64_t line = base + complex_bytes * row * p.root;
        for (uint64_t k = 0; k < p.root; ++k) {
            const uint64_t other = reversed(k, p.root);
            out.count(Code::integer, 4, reverse);
            out.branch(other > k, reverse);
            if (other > k) {
                load_complex(out, line + complex_bytes * other, reverse);
                load_complex(out, line + complex_bytes * k, reverse);
                store_complex(out, line + complex_bytes * other, reverse);
                store_complex(out, line + complex_bytes * k, reverse);
            }
            out.turn(k + 1 < p.root, reverse);
        }
        co_await out.pause();
        for (uint64_t length = 2; length <= p.root; length *= 2) {
            const uint64_t half = length / 2;
            for (uint64_t k = 0; k < p.root; k += length)
                for (uint64_t j = 0; j < half; ++j) {
                    load_complex(out, p.roots + complex_bytes * (half - 1 + j), butterfly);
                    load_complex(out, line + complex_bytes * (k + j + half), butterfly);
                    load_complex(out, line + complex_bytes * (k + j), butterfly);
                    out.count(Code::fp_multiply, 4, butterfly);
                    out.count(Code::fp_add, 6, butterfly);
                    store_complex(out, line + complex_bytes * (k + j + half), butterfly);
                    store_complex(out, line + complex_bytes * (k + j), butterfly);
                    out.turn(j + 1 < half, butterfly, 3);
                    co_await out.pause();
                }
        }
        for (uint64_t k = 0; with_twiddles && k < p.root; ++k) {
            load_complex(out, p.twiddles + complex_bytes * (row * p.root + k), twiddle);
            load_complex(out, line + complex_bytes * k, twiddle);
            out.count(Code::fp_multiply, 4, twiddle);
            out.count(Code::fp_add, 2, twiddle);
            store_complex(out, line + complex_bytes * k, twiddle);
            out.turn(k + 1 < p.root, twiddle, 2);
        }
        co_await out.pause();
    }
    out.barrier(p.threads);
}

Steps fft_thread(Out& out, uint32_t thread, Fft p) {
    const std::vector<uint64_t> arrays{p.x, p.transposed, p.twiddles};
    co_await out.call(prepare(out, p.init, thread, p.threads, arrays, 2 * p.root * p.root, 8,
                              fft_init));
    if (p.private_stride) {
        const uint64_t own = p.copies + thread * p.private_stride;
        co_await out.call(copy_part(out, p, own));
        p.roots = own;
    }
    for (uint64_t round = 0; round < p.iterations; ++round) {
        co_await out.call(transpose_part(out, thread, p, p.x, p.transposed));
        co_await out.call(transform_rows(out, thread, p, p.transposed, true));
        co_await out.call(transpose_part(out, thread, p, p.transposed, p.x));
        co_await out.call(transform_rows(out, thread, p, p.x, false));
        co_await out.call(transpose_part(out, thread, p, p.x, p.transposed));
    }
}

}  // namespace

Feeds matrix_update(const Settings& s) {
    MatrixUpdate p{s["size"], s["iterations"], s["bookkeeping"], s.bases[0], s["private_stride"],
                   s["seed"], s.threads(), Team{s["team"]}, s["detail"] == 0, s["traps"] != 0,
                   s.real.at("spread"), nullptr};
    if (p.values && p.team == Team::shared)
        p.trapped = std::make_shared<const std::vector<Trapped>>(
            race(p.side, p.iterations, p.threads, s["lag"],
                 initial(p.side, p.spread, Random(p.seed, 0))));
    return feeds_of(s.threads(), matrix_update_thread, p);
}

Feeds vector_update(const Settings& s) {
    return feeds_of(s.threads(), vector_update_thread,
                    VectorUpdate{s["size"], s["iterations"], s["bookkeeping"], s.bases[0],
                                 s["private_stride"], s.threads(), s["init"] != 0,
                                 s["detail"] == 0});
}

Feeds fft(const Settings& s) {
    uint64_t root = 1;
    while (root * root < s["size"]) root *= 2;
    const uint64_t stride = s["private_stride"];
    return feeds_of(s.threads(), fft_thread,
                    Fft{root, s["iterations"], s.threads(), s.bases[0], s.bases[1], s.bases[2],
                        s.bases[3], Init{s["init"]}, stride ? s.bases[4] : 0, stride});
}

}  // namespace gnomon::workload
