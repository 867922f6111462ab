#include "stress/streams.hh"

#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gnomon::stress {

namespace {

constexpr double factor = 3.0;

double read_plain(double*, const double* b, const double*, size_t count) {
    double sums[8] = {};
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; ++k) sums[k] += b[i + k];
    double sum = 0;
    for (; i < count; ++i) sum += b[i];
    for (double each : sums) sum += each;
    return sum;
}

// Not to become a call of memcpy, which may store past the caches.
#if !defined(__clang__)
__attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif
double copy_plain(double* __restrict a, const double* __restrict b, const double*, size_t count) {
    for (size_t i = 0; i < count; ++i) a[i] = b[i];
    return 0;
}

double triad_plain(double* __restrict a, const double* __restrict b, const double* __restrict c,
                   size_t count) {
    for (size_t i = 0; i < count; ++i) a[i] = b[i] + factor * c[i];
    return 0;
}

#if defined(__aarch64__)
inline void store_pair_nt(double* at, double first, double second) {
    asm volatile("stnp %d1, %d2, [%0]" ::"r"(at), "w"(first), "w"(second) : "memory");
}
#elif defined(__x86_64__)
inline void store_pair_nt(double* at, double first, double second) {
    _mm_stream_pd(at, _mm_set_pd(second, first));
}
#else
inline void store_pair_nt(double* at, double first, double second) {
    at[0] = first;
    at[1] = second;
}
#endif

inline void finish_nt() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

double copy_nt_plain(double* a, const double* b, const double*, size_t count) {
    size_t i = 0;
    for (; i + 2 <= count; i += 2) store_pair_nt(a + i, b[i], b[i + 1]);
    finish_nt();
    for (; i < count; ++i) a[i] = b[i];
    return 0;
}

double triad_nt_plain(double* a, const double* b, const double* c, size_t count) {
    size_t i = 0;
    for (; i + 2 <= count; i += 2)
        store_pair_nt(a + i, b[i] + factor * c[i], b[i + 1] + factor * c[i + 1]);
    finish_nt();
    for (; i < count; ++i) a[i] = b[i] + factor * c[i];
    return 0;
}

#if defined(__x86_64__)

// A prefetcher follows one stream only so far ahead: several places of long arrays are gone over
// at once, so that more lines are on their way. Too many stores past the caches at once take
// each other's buffers away.
constexpr size_t line = 8;  // elements
constexpr size_t places_read = 4, places_written = 2;
constexpr size_t steps_ahead = 4;  // that a line to be written is asked for
constexpr size_t long_enough = size_t{1} << 15;  // elements

// Elements of each of so many places; what they leave over is at the end of the array.
constexpr size_t part_of(size_t count, size_t places) {
    return count < long_enough ? 0 : count / places / line * line;
}

// One body for both widths: macros, as a template cannot carry the target attribute into the
// intrinsics it uses. A step is a line.
#define GNOMON_STREAMS(NAME, TARGET, VECTOR, LANES, LOAD, STORE, STREAM, ADD, FMA, SET, SUM)       \
    __attribute__((target(TARGET))) double read_##NAME(double*, const double* b, const double*,   \
                                                       size_t count) {                            \
        constexpr size_t vectors = line / LANES;                                                  \
        VECTOR sums[places_read * vectors];                                                       \
        for (VECTOR& each : sums) each = SET(0);                                                  \
        const size_t part = part_of(count, places_read);                                          \
        for (size_t i = 0; i < part; i += line)                                                   \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < places_read * vectors; ++k)            \
                sums[k] = ADD(sums[k], LOAD(b + k / vectors * part + i + k % vectors * LANES));   \
        size_t i = places_read * part;                                                            \
        for (; i + places_read * line <= count; i += places_read * line)                          \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < places_read * vectors; ++k)            \
                sums[k] = ADD(sums[k], LOAD(b + i + k * LANES));                                  \
        VECTOR all = sums[0];                                                                     \
        for (size_t k = 1; k < places_read * vectors; ++k) all = ADD(all, sums[k]);               \
        double sum = SUM(all);                                                                    \
        for (; i < count; ++i) sum += b[i];                                                       \
        return sum;                                                                               \
    }                                                                                             \
    GNOMON_WRITERS(NAME, TARGET, VECTOR, LANES, LOAD, STORE, true, , FMA, SET)                    \
    GNOMON_WRITERS(nt_##NAME, TARGET, VECTOR, LANES, LOAD, STREAM, false, _mm_sfence(), FMA, SET)

#define GNOMON_WRITERS(NAME, TARGET, VECTOR, LANES, LOAD, STORE, FETCHES, FINISH, FMA, SET)       \
    GNOMON_WRITER(copy_##NAME, TARGET, VECTOR, LANES, STORE, FETCHES, FINISH, , LOAD(b + at),     \
                  b[i])                                                                           \
    GNOMON_WRITER(triad_##NAME, TARGET, VECTOR, LANES, STORE, FETCHES, FINISH,                    \
                  const VECTOR f = SET(factor), FMA(f, LOAD(c + at), LOAD(b + at)),               \
                  b[i] + factor * c[i])

// All lines of a step are loaded before any is stored. A store that FETCHES its line is helped by
// asking for the line some steps before.
#define GNOMON_WRITER(NAME, TARGET, VECTOR, LANES, STORE, FETCHES, FINISH, BEFORE, VALUES, VALUE) \
    __attribute__((target(TARGET))) double NAME(double* a, const double* b,                       \
                                                [[maybe_unused]] const double* c, size_t count) { \
        constexpr size_t vectors = line / LANES;                                                  \
        BEFORE;                                                                                   \
        VECTOR values[places_written * vectors];                                                  \
        const size_t part = part_of(count, places_written);                                       \
        for (size_t i = 0; i < part; i += line) {                                                 \
            _Pragma("GCC unroll 8") for (size_t k = 0; FETCHES && k < places_written; ++k)        \
                __builtin_prefetch(a + k * part + i + steps_ahead * line, 1);                     \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < places_written * vectors; ++k) {       \
                const size_t at = k / vectors * part + i + k % vectors * LANES;                   \
                values[k] = VALUES;                                                               \
            }                                                                                     \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < places_written * vectors; ++k)         \
                STORE(a + k / vectors * part + i + k % vectors * LANES, values[k]);               \
        }                                                                                         \
        size_t i = places_written * part;                                                         \
        for (; i + places_written * line <= count; i += places_written * line) {                  \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < places_written * vectors; ++k) {       \
                const size_t at = i + k * LANES;                                                  \
                values[k] = VALUES;                                                               \
            }                                                                                     \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < places_written * vectors; ++k)         \
                STORE(a + i + k * LANES, values[k]);                                              \
        }                                                                                         \
        FINISH;                                                                                   \
        for (; i < count; ++i) a[i] = VALUE;                                                      \
        return 0;                                                                                 \
    }

__attribute__((target("avx2,fma"))) double sum_of_four(__m256d v) {
    alignas(32) double lanes[4];
    _mm256_store_pd(lanes, v);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

__attribute__((target("avx512f"))) double sum_of_eight(__m512d v) {
    alignas(64) double lanes[8];
    _mm512_store_pd(lanes, v);
    double sum = 0;
    for (double each : lanes) sum += each;
    return sum;
}

GNOMON_STREAMS(avx2, "avx2,fma", __m256d, 4, _mm256_load_pd, _mm256_store_pd, _mm256_stream_pd,
               _mm256_add_pd, _mm256_fmadd_pd, _mm256_set1_pd, sum_of_four)
GNOMON_STREAMS(avx512, "avx512f", __m512d, 8, _mm512_load_pd, _mm512_store_pd, _mm512_stream_pd,
               _mm512_add_pd, _mm512_fmadd_pd, _mm512_set1_pd, sum_of_eight)

#endif

struct Width {
    const char* name;
    Loop loops[5];  // in the order of Stream
};

constexpr Width known[] = {
    {"plain", {read_plain, copy_plain, triad_plain, copy_nt_plain, triad_nt_plain}},
#if defined(__x86_64__)
    {"avx2", {read_avx2, copy_avx2, triad_avx2, copy_nt_avx2, triad_nt_avx2}},
    {"avx512", {read_avx512, copy_avx512, triad_avx512, copy_nt_avx512, triad_nt_avx512}},
#endif
};

bool is_there(const std::string& name) {
#if defined(__x86_64__)
    if (name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (name == "avx512") return __builtin_cpu_supports("avx512f");
#endif
    return name == "plain";
}

}  // namespace

std::vector<std::string> widths() {
    std::vector<std::string> found;
    for (const Width& width : known)
        if (is_there(width.name)) found.emplace_back(width.name);
    return found;
}

Loop loop_of(Stream stream, const std::string& width) {
    const std::string wanted = width.empty() ? widths().back() : width;
    for (const Width& each : known)
        if (wanted == each.name && is_there(wanted)) return each.loops[static_cast<size_t>(stream)];
    throw std::invalid_argument("this processor has no instructions '" + wanted + "'");
}

bool has_non_temporal() {
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

}  // namespace gnomon::stress
