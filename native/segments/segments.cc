#include "segments/segments.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "segments/fit.hh"

namespace gnomon::segments {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

template <Shape shape, bool single>
std::vector<double> costs_of_splits(const Centred& data, size_t first, size_t last,
                                    size_t least) {
    // Both fits grow in one loop: neither waits for the other, so the processor overlaps them.
    const size_t count = last - first;
    std::vector<double> before(count + 1, infinite), after(count + 1, infinite);
    Fit<shape, single> left(data), right(data);
    for (size_t i = 0; i < count; ++i) {
        left.add(first + i);
        right.add(last - 1 - i);
        before[i + 1] = left.cost();
        after[count - 1 - i] = right.cost();
    }
    for (size_t i = 0; i <= count; ++i)
        before[i] = i >= least && count - i >= least ? before[i] + after[i] : infinite;
    return before;
}

template <Shape shape, bool single>
double cost_of(const Centred& data, size_t first, size_t last) {
    Fit<shape, single> fit(data);
    for (size_t i = first; i < last; ++i) fit.add(i);
    return fit.cost();
}

Split lowest(const std::vector<double>& costs) {
    const auto found = std::min_element(costs.begin(), costs.end());
    if (!std::isfinite(*found)) return {};
    return {static_cast<size_t>(found - costs.begin()), 0, *found};
}

// Upper bounds of the costs of 1 to `most` pieces, by cutting the worst piece again and again.
template <Shape shape, bool single>
std::vector<double> greedy_costs(const Centred& data, size_t least, size_t most) {
    struct Piece {
        size_t first, last, at;
        double cost, gain;
    };
    const auto piece = [&](size_t first, size_t last) {
        Piece made{first, last, 0, cost_of<shape, single>(data, first, last), 0};
        const Split split = lowest(costs_of_splits<shape, single>(data, first, last, least));
        if (split.at) made.at = first + split.at, made.gain = made.cost - split.cost;
        return made;
    };
    std::vector<Piece> pieces{piece(0, data.count())};
    std::vector<double> bounds;
    while (true) {
        double total = 0;
        for (const Piece& each : pieces) total += each.cost;
        bounds.push_back(total);
        if (bounds.size() == most) return bounds;
        auto chosen = pieces.end();
        for (auto each = pieces.begin(); each != pieces.end(); ++each)
            if (each->at && (chosen == pieces.end() || each->gain > chosen->gain)) chosen = each;
        if (chosen == pieces.end()) {
            bounds.resize(most, infinite);  // no bound: pieces that long leave no room
            return bounds;
        }
        const Piece old = *chosen;
        *chosen = piece(old.first, old.at);
        pieces.push_back(piece(old.at, old.last));
    }
}

// costs[k][j] is the least cost of k + 1 pieces over the first j points, and start[k][j] the
// first point of the last of them.
template <Shape shape, bool single>
std::vector<Partition> best_partitions(const Centred& data, size_t least, size_t most) {
    const size_t n = data.count();
    std::vector<double> bounds = greedy_costs<shape, single>(data, least, most);
    // What is too dear for k pieces may be part of more pieces: those that must be long can
    // cost more together than fewer ones do. Rounding must not decide either.
    for (size_t k = most - 1; k-- > 0;) bounds[k] = std::max(bounds[k], bounds[k + 1]);
    for (double& bound : bounds) bound *= 1 + 1e-9;
    std::vector<std::vector<double>> costs(most, std::vector<double>(n + 1, infinite));
    std::vector<std::vector<size_t>> start(most, std::vector<size_t>(n + 1, 0));
    Fit<shape, single> fit(data);
    std::vector<size_t> open;  // how many pieces may come before one that begins here
    for (size_t i = 0; i + least <= n; ++i) {
        open.clear();
        for (size_t k = i ? 1 : 0; k < (i ? most : 1); ++k)
            if ((i ? costs[k - 1][i] : 0) <= bounds[k]) open.push_back(k);
        fit.clear();
        for (size_t j = i; j < n && !open.empty(); ++j) {
            fit.add(j);
            if (j + 1 - i < least) continue;
            // A piece only gets worse as it grows: beyond the bound it cannot be part of the
            // best partition any more.
            std::erase_if(open, [&](size_t k) {
                const double cost = (i ? costs[k - 1][i] : 0) + fit.cost();
                if (cost < costs[k][j + 1]) {
                    costs[k][j + 1] = cost;
                    start[k][j + 1] = i;
                }
                return cost > bounds[k];
            });
        }
    }
    std::vector<Partition> found;
    for (size_t k = 0; k < most && std::isfinite(costs[k][n]); ++k) {
        Partition partition{{}, costs[k][n]};
        size_t end = n;
        for (size_t level = k; level > 0; --level)
            partition.breaks.push_back(end = start[level][end]);
        std::reverse(partition.breaks.begin(), partition.breaks.end());
        found.push_back(std::move(partition));
    }
    return found;
}

}  // namespace

Centred::Centred(const Data& data)
    : count_(data.count), series_(data.series), origin_(data.count ? data.x[0] : 0),
      step_(1), given_(data.x), x_(data.count), y_(data.count * data.series) {
    if (count_ > 1) step_ = (data.x[count_ - 1] - origin_) / static_cast<double>(count_ - 1);
    if (!(step_ > 0)) step_ = 1;
    for (size_t i = 0; i < count_; ++i) x_[i] = (data.x[i] - origin_) / step_;
    for (size_t s = 0; s < series_; ++s) {
        const double* from = data.y + s * count_;
        for (size_t i = 0; i < count_; ++i) y_[s * count_ + i] = from[i] - from[0];
    }
}

double Centred::between(size_t point, double x) const {
    return std::clamp(origin_ + x * step_, given_[point - 1], given_[point]);
}

double whole_cost(const Centred& data, Shape shape) {
    return fitted(data, shape, [&]<Shape of, bool single>() {
        return cost_of<of, single>(data, 0, data.count());
    });
}

std::vector<double> split_costs(const Centred& data, Shape shape, size_t least) {
    return fitted(data, shape, [&]<Shape of, bool single>() {
        return costs_of_splits<of, single>(data, 0, data.count(), least);
    });
}

Split best_split(const Centred& data, Shape shape, size_t least) {
    Split split = lowest(split_costs(data, shape, least));
    if (split.at)
        split.where = data.between(split.at, (data.x()[split.at - 1] + data.x()[split.at]) / 2);
    return split;
}

std::vector<Partition> partitions(const Centred& data, Shape shape, size_t least, size_t most) {
    if (data.count() < least || most == 0) return {};
    return fitted(data, shape, [&]<Shape of, bool single>() {
        return best_partitions<of, single>(data, least, most);
    });
}

}  // namespace gnomon::segments
