#include "fabric/traffic.hh"

#include <algorithm>

namespace gnomon::fabric {

namespace {

constexpr uint64_t address_step = 64;
constexpr int node_shift = 48;

}  // namespace

double Source::between(const Load& load) {
    switch (load.arrivals) {
        case Arrivals::exponential: return load.mean * random_.exponential();
        case Arrivals::uniform: return load.low + (load.high - load.low) * random_.uniform();
        case Arrivals::table: {
            const double share = random_.uniform();
            const auto bin = std::min<size_t>(
                static_cast<size_t>(std::upper_bound(load.until.begin(), load.until.end(), share) -
                                    load.until.begin()),
                load.until.size() - 1);
            const double before = bin ? load.until[bin - 1] : 0;
            const double width = load.until[bin] - before;
            const double within = width > 0 ? (share - before) / width : 0;
            return load.edges[bin] + (load.edges[bin + 1] - load.edges[bin]) * within;
        }
        default: return static_cast<double>(never);
    }
}

void Source::step(const Load& load) {
    exact_ += between(load);
    born_ = exact_ < static_cast<double>(load.stop) ? static_cast<Time>(exact_) : never;
}

void Source::begin(const Load& load) {
    if (load.arrivals != Arrivals::none && load.arrivals != Arrivals::saturated) step(load);
}

Transaction Source::take(const Load& load) {
    if (!listed_.empty() && listed_.front().time <= born_) {
        const Transaction each = listed_.front();
        listed_.pop();
        return each;
    }
    const Transaction each = draw(load, born_);
    step(load);
    return each;
}

Transaction Source::draw(const Load& load, Time time) {
    uint32_t target;
    if (load.targets.empty()) {
        target = static_cast<uint32_t>(random_.below(hosts_ - 1));
        target += target >= node_;
    } else {
        const double* row = load.targets.data() + size_t{node_} * nodes_;
        const double share = random_.uniform() * row[nodes_ - 1];
        target = static_cast<uint32_t>(std::upper_bound(row, row + nodes_, share) - row);
        target = std::min(target, nodes_ - 1);
        while (target > 0 && row[target] == row[target - 1]) --target;  // share rounded up
    }
    const double share = load.sorts.size() > 1 ? random_.uniform() : 0;
    size_t sort = 0;
    while (sort + 1 < load.sorts.size() && load.sorts[sort].until <= share) ++sort;
    const uint64_t offset = random_.below(load.window_bytes / address_step) * address_step;
    const Sort& chosen = load.sorts[sort];
    return {time,
            uint64_t{target} << node_shift | offset,
            static_cast<uint16_t>(node_),
            static_cast<uint16_t>(target),
            chosen.type,
            chosen.answer,
            chosen.category};
}

}  // namespace gnomon::fabric
