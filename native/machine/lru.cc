#include "machine/lru.hh"

#include <bit>
#include <cstring>

namespace gnomon::machine {

namespace {

using Work = LruSets::Work;

constexpr uint64_t dirty = 1;
constexpr uint64_t empty = ~dirty;  // no line: lines of more than one byte lack the highest bit
constexpr size_t ahead = 16;        // references for which a distant set is fetched beforehand
constexpr size_t near_bytes = 256 << 10;

// Four words that are worked on at once, where the processor can.
using Part [[gnu::vector_size(32)]] = uint64_t;
constexpr uint32_t part_words = 4;

template <uint32_t Lanes>
struct Set {
    uint64_t* words;

    // Where a word is, as a bit.
    uint32_t matches(uint64_t word) const {
        Part found{};
        Part bits{1, 2, 4, 8};
        for (uint32_t i = 0; i < Lanes; i += part_words) {
            found |= reinterpret_cast<Part>((part(i) & ~dirty) == word) & bits;
            bits <<= part_words;
        }
        found |= __builtin_shufflevector(found, found, 2, 3, 2, 3);
        return static_cast<uint32_t>(found[0] | found[1]);
    }
    void move_to_front(int64_t place, uint64_t word) const {
        using Numbers [[gnu::vector_size(32)]] = int64_t;
        Numbers number{0, 1, 2, 3};
        Part next{word, word, word, word};
        for (uint32_t i = 0; i < Lanes; i += part_words) {
            const Part here = part(i);
            // What was last in the part before, then the first three of this one.
            const Part moved = __builtin_shufflevector(here, next, 7, 0, 1, 2);
            const Part kept = number > place ? here : moved;
            std::memcpy(words + i, &kept, sizeof kept);
            next = here;
            number += part_words;
        }
    }
    Part part(uint32_t first) const {
        Part read;
        std::memcpy(&read, words + first, sizeof read);
        return read;
    }
};

template <uint32_t Lanes, bool Stores>
inline void run_all(const Work& given, CacheModelCounts& counts) {
    const Work work = given;  // a copy that nothing else can change
    const uint32_t last = work.ways - 1;
    const uint64_t writes_back = work.through ? 0 : dirty;
    uint64_t stored = 0, load_misses = 0, store_misses = 0, evictions = 0, writebacks = 0;
    uint64_t bypassed = 0;
    uint64_t recent = ~uint64_t{0};
    uint64_t* front = nullptr;
    const auto place_of = [&work](uint64_t line) {
        return work.words + (work.mask ? line & work.mask : line % work.sets) * Lanes;
    };
    for (size_t i = 0; i < work.count; ++i) {
        const uint64_t line = work.addresses[i] >> work.shift;
        const bool store = Stores && work.stores[i] != 0;
        const uint64_t mark = uint64_t{store} & writes_back;
        stored += store;
        if (work.far && i + ahead < work.count)
            __builtin_prefetch(place_of(work.addresses[i + ahead] >> work.shift), 1);
        if (line == recent) {
            if (Stores) *front |= mark;
            continue;
        }
        const Set<Lanes> set{place_of(line)};
        const uint32_t found = set.matches(line << 1);
        // Numbers rather than conditions from here on, or the compiler makes branches of them.
        const uint64_t miss = found == 0;
        const uint64_t bypass = Stores ? miss & store & uint64_t{!work.allocates} : 0;
        const int64_t place = std::countr_zero(found | uint32_t{1} << last);
        const uint64_t old = set.words[place];
        set.move_to_front(place | -static_cast<int64_t>(bypass),
                          line << 1 | mark | (old & dirty & (miss - 1)));
        load_misses += miss & (uint64_t{store} ^ 1);
        store_misses += miss & store;
        const uint64_t evicts = miss & (bypass ^ 1) & uint64_t{old != empty};
        evictions += evicts;
        writebacks += evicts & old;
        bypassed += bypass;
        recent = line | -bypass;  // of what is not kept, nothing is known
        front = set.words;
    }
    counts.loads += work.count - stored;
    counts.stores += stored;
    counts.load_misses += load_misses;
    counts.store_misses += store_misses;
    counts.evictions += evictions;
    counts.writebacks += writebacks;
    // What is not kept has to be written, whatever the policy for what is.
    counts.writes_through += work.through ? stored : bypassed;
}

template <uint32_t Lanes>
inline void run_lanes(const Work& work, CacheModelCounts& counts) {
    // Two loops, so that the one without stores need not ask for them.
    if (work.stores)
        run_all<Lanes, true>(work, counts);
    else
        run_all<Lanes, false>(work, counts);
}

#if defined(__x86_64__)
#define GNOMON_FOR_EACH_PROCESSOR [[gnu::target_clones("avx2", "default"), gnu::flatten]]
#else
#define GNOMON_FOR_EACH_PROCESSOR
#endif
GNOMON_FOR_EACH_PROCESSOR void run_sets(const Work& work, CacheModelCounts& counts) {
    switch (work.lanes) {
        case 4: return run_lanes<4>(work, counts);
        case 8: return run_lanes<8>(work, counts);
        default: return run_lanes<16>(work, counts);
    }
}

}  // namespace

LruSets::LruSets(const CacheSpec& spec) : work_{} {
    work_.sets = spec.sets;
    work_.mask = std::has_single_bit(spec.sets) ? spec.sets - 1 : 0;
    work_.shift = static_cast<uint32_t>(std::countr_zero(spec.line_bytes));
    work_.ways = spec.ways;
    work_.lanes = spec.ways <= 4 ? 4 : spec.ways <= 8 ? 8 : 16;
    work_.through = spec.write == WritePolicy::through;
    work_.allocates = spec.allocate_on_write;
    words_.assign(spec.sets * work_.lanes, empty);
    work_.far = words_.size() * sizeof(uint64_t) > near_bytes;
}

void LruSets::run(const uint64_t* addresses, const uint8_t* stores, size_t count,
                  CacheModelCounts& counts) {
    Work work = work_;
    work.words = words_.data();
    work.addresses = addresses;
    work.stores = stores;
    work.count = count;
    run_sets(work, counts);
}

bool LruSets::contains(uint64_t address) const {
    const uint64_t line = address >> work_.shift;
    const uint64_t* set = words_.data() + set_of(line) * work_.lanes;
    for (uint32_t way = 0; way < work_.ways; ++way)
        if ((set[way] & ~dirty) == line << 1) return true;
    return false;
}

}  // namespace gnomon::machine
