#include "engine/watch.hh"

#include <algorithm>

namespace gnomon::machine {

namespace {
// Whether an instruction adds one to a count at most.
bool counts_instructions(uint32_t name) {
    const auto is = [name](LedgerCount count) { return name == static_cast<uint32_t>(count); };
    return is(LedgerCount::loads) || is(LedgerCount::stores) || is(LedgerCount::atomics) ||
           is(LedgerCount::continued_references) ||
           (name >= static_cast<uint32_t>(LedgerCount::integer) &&
            name <= static_cast<uint32_t>(LedgerCount::other));
}

bool includes(const std::vector<uint32_t>& tasks, uint32_t id) {
    return tasks.empty() || std::find(tasks.begin(), tasks.end(), id) != tasks.end();
}
}  // namespace

void Watches::add(const OverflowSpec& spec, const std::vector<Task>& tasks) {
    overflows_.resize(tasks.size());
    ++watching_;
    for (const Task& task : tasks) {
        if (!includes(spec.tasks, task.id)) continue;
        Overflow overflow;
        overflow.watch = spec.watch;
        overflow.mode_bits = spec.mode_bits;
        overflow.period = spec.period;
        overflow.skid = spec.skid;
        overflow.weights.resize(static_cast<size_t>(LedgerCount::size), 0);
        for (const auto& [name, weight] : spec.weights) {
            overflow.weights[name] = weight;
            for (size_t mode = 0; mode < modes; ++mode)
                if (spec.mode_bits >> mode & 1)
                    overflow.terms.emplace_back(task.rows[mode] + name, weight);
        }
        overflow.next = overflow.sum() + spec.period;
        bool only_instructions = true;
        for (const auto& [name, weight] : spec.weights) {
            // What is subtracted only makes it take longer.
            if (static_cast<int64_t>(weight) > 0)
                overflow.most_weight = std::max(overflow.most_weight, weight);
            only_instructions &= counts_instructions(name);
        }
        if (!only_instructions) overflow.most_weight = 0;
        counts_time_ |= overflow.weights[static_cast<size_t>(LedgerCount::ticks)] > 0;
        overflows_[task.id].push_back(std::move(overflow));
    }
}

void Watches::add(const LatencySpec& spec, const std::vector<Task>& tasks) {
    overflows_.resize(tasks.size());
    ++watching_;
    Latency latency;
    latency.spec = spec;
    for (const Task& task : tasks) latency.chosen.push_back(includes(spec.tasks, task.id));
    latency.seen.resize(tasks.size(), 0);
    latencies_.push_back(std::move(latency));
}

void Watches::remove(uint32_t watch) {
    --watching_;
    for (auto& overflows : overflows_)
        std::erase_if(overflows, [watch](const Overflow& each) { return each.watch == watch; });
    std::erase_if(latencies_, [watch](const Latency& each) { return each.spec.watch == watch; });
}

uint64_t Watches::until_due(const Task& task, size_t count, Tick cost) const {
    uint64_t most = ~uint64_t{0};
    for (const Overflow& overflow : overflows_[task.id]) {
        if (!overflow.skidding.empty()) most = std::min(most, overflow.skidding.front());
        if (!(overflow.mode_bits >> static_cast<size_t>(task.mode) & 1)) continue;
        const uint64_t time = overflow.weights[static_cast<size_t>(LedgerCount::ticks)];
        const uint64_t each = overflow.weights[count] + time * static_cast<uint64_t>(cost);
        if (each) most = std::min(most, (overflow.next - overflow.sum() - 1) / each + 1);
    }
    return std::max<uint64_t>(1, most);
}

void Watches::executed(const Task& task, uint64_t count, const Sample& shown) {
    for (Overflow& overflow : overflows_[task.id]) {
        while (!overflow.skidding.empty() && overflow.skidding.front() <= count) {
            overflow.skidding.pop_front();
            emit(shown, overflow.watch);
        }
        for (uint64_t& left : overflow.skidding) left -= count;
        if (!overflow.skidding.empty()) overflow.last = shown;
        if (!(overflow.mode_bits >> static_cast<size_t>(task.mode) & 1)) continue;
        if (count < overflow.safe) {
            overflow.safe -= count;
            continue;
        }
        const uint64_t sum = overflow.sum();
        for (; sum >= overflow.next; overflow.next += overflow.period) {
            if (overflow.skid) {
                overflow.skidding.push_back(overflow.skid);
                overflow.last = shown;
            } else {
                emit(shown, overflow.watch);
            }
        }
        if (overflow.most_weight) overflow.safe = (overflow.next - sum) / overflow.most_weight;
    }
}

void Watches::loaded(const Task& task, const Sample& shown) {
    for (Latency& latency : latencies_) {
        if (shown.latency < latency.spec.threshold || !latency.chosen[task.id]) continue;
        if (!(latency.spec.mode_bits >> static_cast<size_t>(task.mode) & 1)) continue;
        if (++latency.seen[task.id] % latency.spec.every == 0) emit(shown, latency.spec.watch);
    }
}

void Watches::ended(const Task& task) {
    if (overflows_.empty()) return;
    for (Overflow& overflow : overflows_[task.id]) {
        for (size_t left = overflow.skidding.size(); left > 0; --left)
            emit(overflow.last, overflow.watch);
        overflow.skidding.clear();
    }
}

std::vector<Sample> Watches::take() {
    std::vector<Sample> taken;
    taken.swap(samples_);
    // Work that concerns nobody else is executed ahead of the others.
    std::stable_sort(taken.begin(), taken.end(), [](const Sample& a, const Sample& b) {
        return a.time != b.time ? a.time < b.time : a.task < b.task;
    });
    return taken;
}

std::vector<uint64_t> Watches::counted(uint32_t watch) const {
    for (const Latency& latency : latencies_)
        if (latency.spec.watch == watch) return latency.seen;
    return {};
}

void Watches::emit(Sample sample, uint32_t watch) {
    if (samples_.size() >= capacity) {
        ++dropped_;
        return;
    }
    sample.watch = watch;
    samples_.push_back(sample);
}

}  // namespace gnomon::machine
