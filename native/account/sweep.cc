#include "account/sweep.hh"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "account/gaps.hh"

namespace gnomon::account {

void check(const Slices& s, const Span& span) {
    const auto require = [](bool held, const char* text) {
        if (!held) throw std::invalid_argument(text);
    };
    require(span.start <= span.end && std::isfinite(span.cpus) && span.cpus > 0,
            "a run ends before it starts, or has no CPU");
    for (size_t t = 0; t < s.threads; ++t)
        require(s.process[t] >= 0 && static_cast<size_t>(s.process[t]) < s.processes,
                "a thread belongs to no process");
    for (size_t i = 0; i < s.count; ++i) {
        require(s.thread[i] >= 0 && static_cast<size_t>(s.thread[i]) < s.threads,
                "a slice belongs to no thread");
        require(s.begin[i] < s.end[i], "a slice ends before it begins");
        require(s.state[i] <= last_state && s.ender[i] <= last_ender &&
                    s.relation[i] <= last_relation,
                "a slice has a state, an ender or a relation that does not exist");
        require(s.target[i] >= -1 && s.target[i] < static_cast<int64_t>(s.threads),
                "a slice joins a thread that does not exist");
        require(i == 0 || s.thread[i - 1] < s.thread[i] ||
                    (s.thread[i - 1] == s.thread[i] && s.end[i - 1] <= s.begin[i]),
                "slices must be ordered by thread and time, without overlap");
    }
}

namespace {

class Sweep {
public:
    Sweep(const Slices& slices, const Span& span)
        : s_(slices), span_(span), most_(std::max(1, static_cast<int>(std::ceil(span.cpus)))),
          place_(slices.count, -1), piece_(slices.count, -1), since_(slices.count),
          lockers_(slices.processes), gil_(slices.processes), barrier_(slices.processes),
          spinning_(slices.processes), joined_(slices.threads) {}

    Division run() {
        struct Edge {
            int64_t time;
            int32_t slice;
            bool begins;
        };
        std::vector<Edge> edges;
        edges.reserve(2 * s_.count);
        for (size_t i = 0; i < s_.count; ++i) {
            const int64_t a = std::max(s_.begin[i], span_.start),
                          b = std::min(s_.end[i], span_.end);
            if (a >= b) continue;
            edges.push_back({a, static_cast<int32_t>(i), true});
            edges.push_back({b, static_cast<int32_t>(i), false});
        }
        std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
            return a.time != b.time       ? a.time < b.time
                   : a.begins != b.begins ? !a.begins
                                          : a.slice < b.slice;
        });
        int64_t now = span_.start;
        for (const Edge& edge : edges) {
            if (edge.time > now) {
                pass(now, edge.time);
                now = edge.time;
            }
            edge.begins ? enter(edge.slice) : leave(edge.slice);
        }
        if (now < span_.end) pass(now, span_.end);
        out_.gaps = own_gaps(s_, span_, std::move(gaps_));
        return std::move(out_);
    }

private:
    const Slices& s_;
    const Span& span_;
    const int most_;
    std::vector<int32_t> running_;
    std::vector<int32_t> place_;   // of a running slice among those that run
    std::vector<int32_t> piece_;   // that grows for a slice
    struct Waited { double other, spinners; };
    std::vector<Waited> since_;    // what a ready thread had lost when a slice began
    Waited lost_{0, 0};            // by each ready thread while nothing ran
    std::vector<int32_t> lockers_, gil_, barrier_, spinning_, joined_;
    int ready_ = 0, spinners_ = 0, held_ = 0;
    std::vector<Gap> gaps_;
    Division out_;

    int32_t* counter(int32_t i) {
        const int32_t process = s_.process[s_.thread[i]];
        switch (static_cast<Relation>(s_.relation[i])) {
            case Relation::lock: return &lockers_[process];
            case Relation::gil: return &gil_[process];
            case Relation::barrier: return &barrier_[process];
            case Relation::join: return s_.target[i] < 0 ? nullptr : &joined_[s_.target[i]];
            case Relation::none: break;
        }
        return nullptr;
    }

    void enter(int32_t i) {
        switch (static_cast<State>(s_.state[i])) {
            case State::running:
                place_[i] = static_cast<int32_t>(running_.size());
                running_.push_back(i);
                break;
            case State::ready: ++ready_; since_[i] = lost_; break;
            case State::spinning: ++spinners_; ++spinning_[s_.process[s_.thread[i]]]; break;
            case State::held: ++held_; break;
            case State::waiting:
                if (int32_t* number = counter(i)) ++*number;
        }
    }

    void leave(int32_t i) {
        switch (static_cast<State>(s_.state[i])) {
            case State::running: {
                const int32_t last = running_.back();
                running_[place_[i]] = last;
                place_[last] = place_[i];
                running_.pop_back();
                break;
            }
            case State::ready: {
                --ready_;
                const double other = lost_.other - since_[i].other,
                             spinners = lost_.spinners - since_[i].spinners;
                if (other > 0) out_.pieces.push_back({i, Meanwhile::nobody, 0, other});
                if (spinners > 0) out_.pieces.push_back({i, Meanwhile::spinners, 0, spinners});
                break;
            }
            case State::spinning: --spinners_; --spinning_[s_.process[s_.thread[i]]]; break;
            case State::held: --held_; break;
            case State::waiting:
                if (int32_t* number = counter(i)) --*number;
        }
    }

    // Who waits for a lock could not have used a CPU, and a spinning thread uses one.
    bool serial() const {
        if (static_cast<int>(running_.size()) + spinners_ >= most_) return true;
        return std::any_of(running_.begin(), running_.end(), [&](int32_t i) {
            const int32_t process = s_.process[s_.thread[i]];
            return lockers_[process] || gil_[process];
        });
    }

    Meanwhile meanwhile(int32_t i) const {
        const int32_t thread = s_.thread[i], process = s_.process[thread];
        if (static_cast<int>(running_.size()) >= most_) return Meanwhile::nothing;
        if (lockers_[process]) return Meanwhile::lock;
        if (gil_[process]) return Meanwhile::gil;
        if (barrier_[process]) return Meanwhile::barrier;
        if (spinning_[process]) return Meanwhile::spin;
        return joined_[thread] ? Meanwhile::join : Meanwhile::nothing;
    }

    void add(int32_t i, double amount, double lost) {
        const Meanwhile others = meanwhile(i);
        if (piece_[i] < 0 || out_.pieces[piece_[i]].meanwhile != others) {
            piece_[i] = static_cast<int32_t>(out_.pieces.size());
            out_.pieces.push_back({i, others, 0, 0});
        }
        out_.pieces[piece_[i]].amount += amount;
        out_.pieces[piece_[i]].lost += lost;
    }

    void pass(int64_t from, int64_t to) {
        const double length = static_cast<double>(to - from);
        const int n = static_cast<int>(running_.size());
        double rate = 0, lost = 0;
        if (n) {
            const int able = serial() ? n : std::min(std::max(most_, n), n + ready_);
            rate = 1.0 / able;
            lost = 1 - n * rate;
            for (const int32_t i : running_) add(i, length * rate, length * lost / n);
            if (n >= most_ && ready_) out_.full += to - from;
        } else if (ready_) {
            lost = 1;
            (spinners_ >= most_ ? lost_.spinners : lost_.other) += length / ready_;
        } else {
            const bool start = held_ || to <= span_.exec;
            if (!gaps_.empty() && gaps_.back().end == from && gaps_.back().woken == start)
                gaps_.back().end = to;
            else
                gaps_.push_back({from, to, -1, start});  // `woken` marks the start until it is owned
        }
        const Step step{from, n, spinners_, ready_, rate, lost};
        if (out_.steps.empty() || !same(out_.steps.back(), step)) out_.steps.push_back(step);
    }

    static bool same(const Step& a, const Step& b) {
        return a.running == b.running && a.spinning == b.spinning && a.ready == b.ready &&
               a.rate == b.rate && a.lost == b.lost;
    }
};

}  // namespace

Division divide(const Slices& slices, const Span& span) { return Sweep(slices, span).run(); }

}  // namespace gnomon::account
