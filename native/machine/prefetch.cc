// Fetching lines before they are asked for: the next one, or the next of a stride.
//
// A prefetch goes into the second level (the only one there is, if there is one), never
// leaves the page, and needs a free fill buffer: a thread that already has all its misses
// under way fetches nothing ahead, so that its bandwidth keeps its limit.
#include "machine/system.hh"

namespace gnomon::machine {

void System::prefetch_after(const Request& miss) {
    Core& core = miss.core;
    const uint64_t line = line_of(miss.address);
    const uint64_t page = memory_.page_of(miss.address);
    int64_t stride = 1;
    if (spec_.prefetch == Prefetch::stride) {
        Streak& streak = core.strides[page % Core::streaks];
        const auto at = static_cast<int64_t>(line);
        if (streak.page != page) {
            streak = {page, at, 0, 0};
            return;
        }
        const int64_t step = at - streak.last;
        if (step == 0) return;
        streak.seen = step == streak.stride ? streak.seen + 1 : 0;
        streak.stride = step;
        streak.last = at;
        // Twice the same step may be chance; from the second repetition on it is a stride.
        if (streak.seen < 1) return;
        stride = step;
    }
    for (int64_t ahead = 1; ahead <= static_cast<int64_t>(spec_.prefetch_degree); ++ahead) {
        const uint64_t wanted = line + static_cast<uint64_t>(ahead * stride);
        if (memory_.page_of(wanted << line_shift_) != page) return;
        prefetch_line(miss, wanted);
    }
}

void System::prefetch_line(const Request& miss, uint64_t line) {
    Core& core = miss.core;
    const size_t number = std::min<size_t>(1, own_levels_ - 1);
    Level& target = core.data[number];
    Request request{miss.thread, core, line << line_shift_, Kind::load, miss.now, false};
    const uint64_t own = request.address >> target.shift;
    if (target.cache.find(own) != Cache::none || holds(core, line)) return;
    Tick free = miss.now;
    const size_t fill = miss.thread.reserve(free);
    if (free > miss.now) return;
    miss.thread.count(ThreadCount::prefetches) += 1;
    const Access found = read(request, number);
    miss.thread.fills[fill] = miss.now + found.latency;
    const size_t slot = target.cache.find(own);
    target.cache.flags(slot) |= flag::prefetched;
    target.ready[slot] = miss.now + found.latency;
}

}  // namespace gnomon::machine
