#include "account/gaps.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace gnomon::account {
namespace {

constexpr int64_t beat_run = 200'000;   // a lone slice shorter than this ...
constexpr int64_t beat_wake = 100'000;  // ... after which nobody starts within this is a heartbeat
constexpr int64_t long_beat = 10 * beat_run;  // of a thread that is known to be one
constexpr int least_ends = 5;           // gaps that such a thread has ended
constexpr size_t look_ahead = 500;      // starts after a gap that are looked through

struct Start {
    int64_t time;
    int32_t slice;
};

// The thread that ends a gap.
struct Ending {
    int32_t slice;  // what it waited in, or spun in; -1: it had not begun
    int32_t thread;
    bool beat, may_beat, inside;
};

class Owners {
public:
    Owners(const Slices& slices, const Span& span) : s_(slices) {
        for (size_t i = 0; i < s_.count; ++i) {
            const State state = state_of(i);
            const bool starts = state == State::running || state == State::ready ||
                                state == State::spinning;
            const int64_t begin = std::max(s_.begin[i], span.start);
            if (starts && begin < std::min(s_.end[i], span.end))
                starts_.push_back({begin, static_cast<int32_t>(i)});
        }
        std::sort(starts_.begin(), starts_.end(), [&](const Start& a, const Start& b) {
            return a.time != b.time ? a.time < b.time : key(a.slice) < key(b.slice);
        });
    }

    std::vector<Gap> own(std::vector<Gap> gaps) {
        std::vector<std::optional<Ending>> endings;
        std::vector<int> ends(s_.threads), beats(s_.threads);
        for (const Gap& gap : gaps) {
            endings.push_back(gap.woken ? std::nullopt : ending(gap));
            if (const auto& end = endings.back()) {
                ++ends[end->thread];
                beats[end->thread] += end->beat;
            }
        }
        for (size_t g = gaps.size(); g-- > 0;) {
            Gap& gap = gaps[g];
            if (gap.woken) {  // before exec
                gap.woken = false;
                continue;
            }
            if (!endings[g]) {
                gap.slice = covering(gap, -1);
                continue;
            }
            const Ending& end = *endings[g];
            const bool beat = end.beat || (end.may_beat && ends[end.thread] >= least_ends &&
                                           beats[end.thread] > 0.8 * ends[end.thread]);
            gap.slice = end.slice;
            if (beat || end.inside) {
                int32_t other = covering(gap, end.thread);
                if (other < 0 && end.inside) other = next_from_outside(gap, end.thread);
                if (other >= 0) gap.slice = other;
                gap.woken = other < 0 && end.inside;
            } else {
                owners_[end.thread] = end.slice;
            }
        }
        return gaps;
    }

private:
    const Slices& s_;
    std::vector<Start> starts_;
    std::map<int32_t, int32_t> owners_;  // of each thread: its wait that owns a later gap

    State state_of(size_t i) const { return static_cast<State>(s_.state[i]); }

    int32_t before(int32_t i) const {
        return i > 0 && s_.thread[i - 1] == s_.thread[i] ? i - 1 : -1;
    }

    // Orders starts at one moment by what they are, never by numbers of threads.
    std::tuple<int, int64_t, int, int, int64_t> key(int32_t i) const {
        const int32_t w = before(i);
        if (w < 0) return {s_.state[i], s_.begin[i], -1, -1, s_.end[i]};
        return {s_.state[i], s_.begin[w], s_.ender[w], s_.relation[w], s_.end[i]};
    }

    std::vector<Start>::const_iterator after(int64_t time) const {
        return std::upper_bound(starts_.begin(), starts_.end(), time,
                                [](int64_t t, const Start& start) { return t < start.time; });
    }

    std::optional<Ending> ending(const Gap& gap) const {
        auto found = std::lower_bound(starts_.begin(), starts_.end(), gap.end,
                                      [](const Start& start, int64_t t) { return start.time < t; });
        while (found != starts_.end() && found->time == gap.end &&
               state_of(found->slice) == State::spinning)
            ++found;
        if (found == starts_.end() || found->time != gap.end) return std::nullopt;
        const int32_t i = found->slice, w = before(i), thread = s_.thread[i];
        const bool waited = w >= 0 && state_of(w) == State::waiting;
        const Ender ender = waited ? static_cast<Ender>(s_.ender[w]) : Ender::unknown;
        int64_t ran = 0;
        const int32_t last = turn(i, ran);
        const bool lone = last >= 0 && ender != Ender::outside && ender != Ender::inside &&
                          alone(last, gap.end);
        return Ending{w, thread, lone && ran < beat_run, lone && ran < long_beat,
                      ender == Ender::inside || (w >= 0 && state_of(w) == State::spinning)};
    }

    // The last slice before a thread waits again, and how long it ran until then: it may have been
    // ready first, or have lost its CPU meanwhile. -1 where it does not wait again.
    int32_t turn(int32_t i, int64_t& ran) const {
        for (const int32_t thread = s_.thread[i]; static_cast<size_t>(i) + 1 < s_.count; ++i) {
            if (state_of(i) == State::running) ran += s_.end[i] - s_.begin[i];
            else if (state_of(i) != State::ready) return -1;
            if (s_.thread[i + 1] != thread || s_.begin[i + 1] != s_.end[i]) return -1;
            if (state_of(i + 1) == State::waiting) return ran ? i : -1;
        }
        return -1;
    }

    // Whether nobody else starts until shortly after the end of a slice.
    bool alone(int32_t i, int64_t from) const {
        size_t looked = 0;
        for (auto next = after(from); next != starts_.end() && looked < look_ahead;
             ++next, ++looked) {
            if (next->time > s_.end[i] + beat_wake) break;
            if (s_.thread[next->slice] != s_.thread[i]) return false;
        }
        return true;
    }

    // The owner of a later gap whose wait covers this one: the one that ends first.
    int32_t covering(const Gap& gap, int32_t but) const {
        int32_t best = -1;
        for (const auto& [thread, slice] : owners_) {
            if (thread == but || slice < 0 || s_.begin[slice] > gap.begin) continue;
            if (best < 0 || std::tie(s_.end[slice], s_.begin[slice]) <
                                std::tie(s_.end[best], s_.begin[best]))
                best = slice;
        }
        return best;
    }

    // The next wait for something outside that overlaps the gap.
    int32_t next_from_outside(const Gap& gap, int32_t but) const {
        auto next = std::lower_bound(starts_.begin(), starts_.end(), gap.end,
                                     [](const Start& start, int64_t t) { return start.time < t; });
        for (size_t looked = 0; next != starts_.end() && looked < look_ahead; ++next, ++looked) {
            const int32_t w = before(next->slice);
            if (s_.thread[next->slice] != but && w >= 0 && state_of(w) == State::waiting &&
                s_.begin[w] < gap.end && static_cast<Ender>(s_.ender[w]) != Ender::inside)
                return w;
        }
        return -1;
    }
};

}  // namespace

std::vector<Gap> own_gaps(const Slices& slices, const Span& span, std::vector<Gap> gaps) {
    return Owners(slices, span).own(std::move(gaps));
}

}  // namespace gnomon::account
