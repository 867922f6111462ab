// Parallel sorting: multiway merge sort, and radix sort after SPLASH-2.
#include <algorithm>

#include "workload/feed.hh"

namespace gnomon::workload {

namespace {

constexpr uint64_t short_part = 16;

void insertion_sort(Out& out, uint32_t* keys, uint64_t base, uint64_t from, uint64_t to,
                    uint32_t site) {
    for (uint64_t i = from + 1; i < to; ++i) {
        const uint32_t key = keys[i];
        out.load(base + 4 * i, 4, site, waits);
        uint64_t j = i;
        for (; j > from; --j) {
            out.load(base + 4 * (j - 1), 4, site, waits);
            out.branch(keys[j - 1] > key, site);
            if (keys[j - 1] <= key) break;
            keys[j] = keys[j - 1];
            out.store(base + 4 * j, 4, site);
            out.count(Code::integer, 1, site);
        }
        keys[j] = key;
        out.store(base + 4 * j, 4, site);
        out.turn(i + 1 < to, site);
    }
}

uint32_t median(uint32_t a, uint32_t b, uint32_t c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

}  // namespace

Steps quicksort(Out& out, uint32_t* keys, uint64_t base, uint64_t from, uint64_t to,
                uint32_t site) {
    std::vector<std::pair<uint64_t, uint64_t>> parts{{from, to}};
    while (!parts.empty()) {
        const auto [low, high] = parts.back();
        parts.pop_back();
        if (high - low <= short_part) {
            insertion_sort(out, keys, base, low, high, site);
            co_await out.pause();
            continue;
        }
        const uint64_t middle = low + (high - low) / 2;
        out.load(base + 4 * low, 4, site);
        out.load(base + 4 * middle, 4, site);
        out.load(base + 4 * (high - 1), 4, site, waits);
        out.count(Code::integer, 6, site);
        const uint32_t pivot = median(keys[low], keys[middle], keys[high - 1]);
        uint64_t i = low, j = high - 1;
        for (;; ++i, --j) {
            for (;; ++i) {
                out.load(base + 4 * i, 4, site, waits);
                out.turn(keys[i] < pivot, site);
                if (keys[i] >= pivot) break;
                co_await out.pause();
            }
            for (;; --j) {
                out.load(base + 4 * j, 4, site, waits);
                out.turn(keys[j] > pivot, site);
                if (keys[j] <= pivot) break;
                co_await out.pause();
            }
            out.branch(i < j, site);
            if (i >= j) break;
            std::swap(keys[i], keys[j]);
            out.store(base + 4 * i, 4, site);
            out.store(base + 4 * j, 4, site);
        }
        parts.emplace_back(low, j + 1);
        parts.emplace_back(j + 1, high);
    }
}

namespace {

enum class Generate : uint64_t { none, serial, parallel };
constexpr uint64_t samples_a_thread = 16;

// What all threads need to know of each other's keys.
struct SortPlan {
    std::vector<uint32_t> keys;    // as generated
    std::vector<uint32_t> sorted;  // each thread's part sorted by itself
    std::vector<uint32_t> samples;
    std::vector<uint32_t> sorted_samples;
};

struct Sort {
    uint64_t count;
    uint32_t threads;
    Generate generate;
    uint64_t keys, merged, samples, barrier;
    std::shared_ptr<const SortPlan> plan;

    uint64_t begin(uint64_t thread) const { return share(count, threads, thread); }
};

// A linear congruential generator; in parallel each thread has its own.
std::vector<uint32_t> congruential(uint64_t count, uint64_t threads, bool parallel,
                                   uint64_t seed) {
    std::vector<uint32_t> keys(count);
    for (uint64_t thread = 0; thread < (parallel ? threads : 1); ++thread) {
        uint32_t x = static_cast<uint32_t>(Random(seed, thread).next());
        const uint64_t to = parallel ? share(count, threads, thread + 1) : count;
        for (uint64_t i = parallel ? share(count, threads, thread) : 0; i < to; ++i)
            keys[i] = x = x * 1664525u + 1013904223u;
    }
    return keys;
}

enum { generate = 1, local_sort, sample, sort_samples, split, merge, copy_back, barrier };

Steps generate_keys(Out& out, uint64_t base, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
        out.count(Code::multiply, 1, generate);
        out.store(base + 4 * i, 4, generate);
        out.turn(i + 1 < to, generate, 2);
        co_await out.pause();
    }
}

// The first of a thread's sorted keys that is not below the pivot.
uint64_t lower_bound(Out& out, const Sort& p, uint64_t part, uint32_t pivot) {
    uint64_t from = p.begin(part), to = p.begin(part + 1);
    while (from < to) {
        const uint64_t middle = from + (to - from) / 2;
        const bool below = p.plan->sorted[middle] < pivot;
        out.load(p.keys + 4 * middle, 4, split, waits);
        out.count(Code::integer, 3, split);
        out.branch(below, split);
        if (below)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

struct Head {
    uint32_t key;
    uint64_t at, end;
    bool operator<(const Head& other) const {
        return key != other.key ? key < other.key : at < other.at;
    }
};

void sift_down(Out& out, std::vector<Head>& heap, size_t i) {
    for (size_t child; (child = 2 * i + 1) < heap.size(); i = child) {
        if (child + 1 < heap.size()) {
            const bool right = heap[child + 1] < heap[child];
            out.turn(right, merge);
            child += right;
        }
        const bool lower = heap[child] < heap[i];
        out.turn(lower, merge);
        if (!lower) break;
        std::swap(heap[child], heap[i]);
    }
}

Steps merge_parts(Out& out, Sort p, std::vector<Head> heap, uint64_t to) {
    for (Head& head : heap) {
        head.key = p.plan->sorted[head.at];
        out.load(p.keys + 4 * head.at, 4, merge, waits);
    }
    for (size_t i = heap.size() / 2; i-- > 0;) sift_down(out, heap, i);
    while (!heap.empty()) {
        out.store(p.merged + 4 * to++, 4, merge);
        Head& first = heap.front();
        ++first.at;
        out.turn(first.at < first.end, merge, 2);
        if (first.at < first.end) {
            first.key = p.plan->sorted[first.at];
            out.load(p.keys + 4 * first.at, 4, merge, waits);
        } else {
            first = heap.back();
            heap.pop_back();
        }
        sift_down(out, heap, 0);
        co_await out.pause();
    }
}

// As threads of OpenMP meet: each counts itself down by an atomic operation, and reads the
// generation when all are there. The last one also writes it, which is left out: who that is
// turns out in the run. Both words share a line, so that reading misses as it does after that.
void meet(Out& out, const Sort& p) {
    out.reference(Code::atomic, p.barrier, 4, barrier, waits);
    out.barrier(p.threads);
    out.load(p.barrier + 4, 4, barrier, waits);
}

Steps parallel_sort_thread(Out& out, uint32_t thread, Sort p) {
    const uint64_t from = p.begin(thread), to = p.begin(thread + 1);
    if (p.generate == Generate::parallel)
        co_await out.call(generate_keys(out, p.keys, from, to));
    else if (p.generate == Generate::serial && thread == 0)
        co_await out.call(generate_keys(out, p.keys, 0, p.count));
    meet(out, p);

    {
        std::vector<uint32_t> part(p.plan->keys.begin() + from, p.plan->keys.begin() + to);
        co_await out.call(
            quicksort(out, part.data(), p.keys + 4 * from, 0, part.size(), local_sort));
    }
    for (uint64_t k = 0; k < samples_a_thread; ++k) {
        out.load(p.keys + 4 * (from + share(to - from, samples_a_thread, k)), 4, sample, waits);
        out.store(p.samples + 4 * (thread * samples_a_thread + k), 4, sample);
        out.turn(k + 1 < samples_a_thread, sample, 2);
    }
    meet(out, p);
    if (thread == 0) {
        std::vector<uint32_t> samples = p.plan->samples;
        co_await out.call(
            quicksort(out, samples.data(), p.samples, 0, samples.size(), sort_samples));
    }
    meet(out, p);

    std::vector<Head> heap;
    uint64_t first = 0, count = 0;
    const uint64_t low = thread * samples_a_thread, high = low + samples_a_thread;
    const bool bottom = thread == 0, top = thread + 1 == p.threads;
    if (!bottom) out.load(p.samples + 4 * low, 4, split, waits);
    if (!top) out.load(p.samples + 4 * high, 4, split, waits);
    for (uint64_t part = 0; part < p.threads; ++part) {
        const uint64_t begin =
            bottom ? p.begin(part) : lower_bound(out, p, part, p.plan->sorted_samples[low]);
        const uint64_t end =
            top ? p.begin(part + 1) : lower_bound(out, p, part, p.plan->sorted_samples[high]);
        first += begin - p.begin(part);
        count += end - begin;
        if (begin < end) heap.push_back(Head{0, begin, end});
        out.turn(part + 1 < p.threads, split, 3);
    }
    co_await out.call(merge_parts(out, p, heap, first));
    meet(out, p);
    for (uint64_t i = first; i < first + count; ++i) {
        out.load(p.merged + 4 * i, 4, copy_back);
        out.store(p.keys + 4 * i, 4, copy_back);
        out.turn(i + 1 < first + count, copy_back);
        co_await out.pause();
    }
    meet(out, p);
}

using Keys = std::vector<uint32_t>;

// The keys before each pass, and where each thread puts its next key of each digit.
struct RadixPlan {
    std::vector<Keys> keys;
    std::vector<Keys> ranks;  // of a pass: thread x digits
};

struct Radix {
    uint64_t count, digits, shift, passes;
    uint32_t threads;
    uint64_t arrays[2], ranks, sums, rank_stride;
    Init init;
    std::shared_ptr<const RadixPlan> plan;

    uint64_t begin(uint64_t thread) const { return share(count, threads, thread); }
    uint64_t digit(uint32_t key, uint64_t pass) const {
        return key >> (pass * shift) & (digits - 1);
    }
};

RadixPlan plan_of(const Radix& p, uint64_t max_key, uint64_t seed) {
    RadixPlan plan;
    Keys keys(p.count);
    Random random(seed, 0);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random.below(max_key));
    for (uint64_t pass = 0; pass < p.passes; ++pass) {
        Keys ranks(p.threads * p.digits);
        for (uint64_t thread = 0; thread < p.threads; ++thread)
            for (uint64_t i = p.begin(thread); i < p.begin(thread + 1); ++i)
                ++ranks[thread * p.digits + p.digit(keys[i], pass)];
        uint32_t sum = 0;
        for (uint64_t digit = 0; digit < p.digits; ++digit)
            for (uint64_t thread = 0; thread < p.threads; ++thread)
                sum += std::exchange(ranks[thread * p.digits + digit], sum);
        Keys next(p.count), at = ranks;
        for (uint64_t thread = 0; thread < p.threads; ++thread)
            for (uint64_t i = p.begin(thread); i < p.begin(thread + 1); ++i)
                next[at[thread * p.digits + p.digit(keys[i], pass)]++] = keys[i];
        plan.keys.push_back(std::move(keys));
        plan.ranks.push_back(std::move(ranks));
        keys = std::move(next);
    }
    return plan;
}

enum { radix_init = 1, clear, histogram, prefix, offset, permute };

Steps count_digits(Out& out, uint32_t thread, Radix p, uint64_t pass) {
    const uint64_t ranks = p.ranks + thread * p.rank_stride;
    co_await out.call(fill(out, Array{ranks, 0, p.digits, 4}, clear));
    const Keys& keys = p.plan->keys[pass];
    const uint64_t to = p.begin(thread + 1);
    for (uint64_t i = p.begin(thread); i < to; ++i) {
        const uint64_t rank = ranks + 4 * p.digit(keys[i], pass);
        out.load(p.arrays[pass % 2] + 4 * i, 4, histogram, waits);
        out.count(Code::integer, 3, histogram);
        out.load(rank, 4, histogram, waits);
        out.store(rank, 4, histogram);
        out.turn(i + 1 < to, histogram);
        co_await out.pause();
    }
    out.barrier(p.threads);
}

// Each thread adds up the counts of its share of the digits, then what comes before them.
Steps add_up(Out& out, uint32_t thread, Radix p) {
    const uint64_t from = share(p.digits, p.threads, thread);
    const uint64_t to = share(p.digits, p.threads, thread + 1);
    const uint32_t sites[] = {prefix, offset};
    for (const uint32_t site : sites) {
        if (site == offset)
            for (uint64_t other = 0; other < thread; ++other) {
                out.load(p.sums + 64 * other, 4, offset);
                out.turn(other + 1 < thread, offset, 2);
            }
        for (uint64_t digit = from; digit < to; ++digit) {
            for (uint64_t other = 0; other < p.threads; ++other) {
                const uint64_t rank = p.ranks + other * p.rank_stride + 4 * digit;
                out.load(rank, 4, site, waits);
                out.count(Code::integer, 1, site);
                out.store(rank, 4, site);
                out.turn(other + 1 < p.threads, site);
            }
            out.turn(digit + 1 < to, site);
            co_await out.pause();
        }
        if (site == prefix) out.store(p.sums + 64 * thread, 4, prefix);
        out.barrier(p.threads);
    }
}

Steps permute_keys(Out& out, uint32_t thread, Radix p, uint64_t pass) {
    const Keys& keys = p.plan->keys[pass];
    const auto& ranks = p.plan->ranks[pass];
    Keys at(ranks.begin() + thread * p.digits, ranks.begin() + (thread + 1) * p.digits);
    const uint64_t to = p.begin(thread + 1);
    for (uint64_t i = p.begin(thread); i < to; ++i) {
        const uint64_t digit = p.digit(keys[i], pass);
        const uint64_t rank = p.ranks + thread * p.rank_stride + 4 * digit;
        out.load(p.arrays[pass % 2] + 4 * i, 4, permute, waits);
        out.count(Code::integer, 3, permute);
        out.load(rank, 4, permute, waits);
        out.store(rank, 4, permute);
        out.store(p.arrays[1 - pass % 2] + 4 * at[digit]++, 4, permute);
        out.turn(i + 1 < to, permute);
        co_await out.pause();
    }
    out.barrier(p.threads);
}

Steps radix_thread(Out& out, uint32_t thread, Radix p) {
    const std::vector<uint64_t> arrays{p.arrays[0]};
    co_await out.call(prepare(out, p.init, thread, p.threads, arrays, p.count, 4, radix_init));
    for (uint64_t pass = 0; pass < p.passes; ++pass) {
        co_await out.call(count_digits(out, thread, p, pass));
        co_await out.call(add_up(out, thread, p));
        co_await out.call(permute_keys(out, thread, p, pass));
    }
}

}  // namespace

Feeds parallel_sort(const Settings& s) {
    Sort p{s["size"] / 4, s.threads(), Generate{s["generate"]}, s.bases[0], s.bases[1], s.bases[2],
           s.bases[3], nullptr};
    SortPlan plan;
    plan.keys = congruential(p.count, p.threads, p.generate == Generate::parallel, s["seed"]);
    plan.sorted = plan.keys;
    for (uint64_t thread = 0; thread < p.threads; ++thread) {
        const uint64_t from = p.begin(thread), to = p.begin(thread + 1);
        std::sort(plan.sorted.begin() + from, plan.sorted.begin() + to);
        for (uint64_t k = 0; k < samples_a_thread; ++k)
            plan.samples.push_back(plan.sorted[from + share(to - from, samples_a_thread, k)]);
    }
    plan.sorted_samples = plan.samples;
    std::sort(plan.sorted_samples.begin(), plan.sorted_samples.end());
    p.plan = std::make_shared<const SortPlan>(std::move(plan));
    return feeds_of(s.threads(), parallel_sort_thread, p);
}

Feeds radix(const Settings& s) {
    Radix p{s["size"], s["radix"], 0, 0, s.threads(), {s.bases[0], s.bases[1]}, s.bases[2],
            s.bases[3], s["private_stride"], Init{s["init"]}, nullptr};
    while (uint64_t{1} << p.shift < p.digits) ++p.shift;
    for (uint64_t rest = s["max_key"] - 1; p.passes == 0 || rest > 0; rest >>= p.shift) ++p.passes;
    p.plan = std::make_shared<const RadixPlan>(plan_of(p, s["max_key"], s["seed"]));
    return feeds_of(s.threads(), radix_thread, p);
}

}  // namespace gnomon::workload
