// Two lines that meet: the break may lie anywhere between two points.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "segments/segments.hh"
#include "segments/fit.hh"

namespace gnomon::segments {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// What is kept of the line through the points on one side of a break.
struct Side {
    double count, mean_x, sxx, cost;
};

struct Line {
    double slope, mean_y;
};

// a + b t + c t^2
struct Quadratic {
    double a = 0, b = 0, c = 0;
    double operator()(double t) const { return a + t * (b + t * c); }
};

// Lets two free lines meet at t. Making a line pass a given point at t adds the squared
// distance over h(t) = 1/n + (t - mean)^2 / sxx to its cost; sharing the distance d between
// both lines in the best way adds d^2 / (h_left + h_right). Over t this is one quadratic
// over another, so its least value on an interval is at an end or where a quadratic is zero.
class Meeting {
  public:
    Meeting(const Side& left, const Side& right) {
        for (const Side* side : {&left, &right}) {
            // A single point says nothing of the slope; callers see to at least two.
            height_.a += 1 / side->count + side->mean_x * side->mean_x / side->sxx;
            height_.b -= 2 * side->mean_x / side->sxx;
            height_.c += 1 / side->sxx;
        }
    }

    void part(double at_zero, double slope) {
        gap_.a += at_zero * at_zero;
        gap_.b += 2 * at_zero * slope;
        gap_.c += slope * slope;
    }

    double operator()(double t) const { return std::max(0.0, gap_(t)) / height_(t); }

    // Where the penalty is least between two places.
    double best(double low, double high) const {
        double found = (*this)(low) <= (*this)(high) ? low : high;
        const double c = gap_.c * height_.b - gap_.b * height_.c;
        const double b = 2 * (gap_.c * height_.a - gap_.a * height_.c);
        const double a = gap_.b * height_.a - gap_.a * height_.b;
        for (double root : roots(a, b, c))
            if (root > low && root < high && (*this)(root) < (*this)(found)) found = root;
        return found;
    }

  private:
    // Both places where a + b t + c t^2 is zero; not a number where there is none.
    static std::array<double, 2> roots(double a, double b, double c) {
        // Rounding may leave a little below zero under the root: then both are the same.
        const double inner = std::sqrt(std::max(0.0, b * b - 4 * a * c));
        const double q = -0.5 * (b + std::copysign(inner, b));
        return {q / c, a / q};
    }

    Quadratic gap_, height_;
};

// The fits of the first 1, 2, ... points of one direction.
struct Sides {
    std::vector<Side> side;
    std::vector<Line> line;  // point-major, one a series

    Sides(const Centred& data, bool backwards)
        : side(data.count() + 1), line((data.count() + 1) * data.series()) {
        fitted(data, Shape::line, [&]<Shape shape, bool single>() {
            if constexpr (shape == Shape::line) fill<single>(data, backwards);
        });
    }

  private:
    template <bool single>
    void fill(const Centred& data, bool backwards) {
        const size_t n = data.count(), series = data.series();
        Fit<Shape::line, single> fit(data);
        for (size_t i = 0; i < n; ++i) {
            fit.add(backwards ? n - 1 - i : i);
            side[i + 1] = {fit.count(), fit.mean_x(), fit.sxx(), fit.cost()};
            for (size_t s = 0; s < series; ++s)
                line[(i + 1) * series + s] = {fit.slope(s), fit.mean_y(s)};
        }
    }
};

// Looks at one break after the other.
class Hinges {
  public:
    explicit Hinges(const Centred& data) : data_(data), before_(data, false), after_(data, true) {}

    // What two lines cost that need not meet: never more than those that do.
    double free_cost(size_t i) const {
        return before_.side[i].cost + after_.side[data_.count() - i].cost;
    }

    Split at(size_t i) const {
        const size_t rest = data_.count() - i, series = data_.series();
        Side left = before_.side[i], right = after_.side[rest];
        // Seen from the last point before the break, which keeps the numbers small.
        const double origin = data_.x()[i - 1];
        left.mean_x -= origin;
        right.mean_x -= origin;
        Meeting meeting(left, right);
        for (size_t s = 0; s < series; ++s) {
            const Line& a = before_.line[i * series + s];
            const Line& b = after_.line[rest * series + s];
            meeting.part((a.mean_y - a.slope * left.mean_x) - (b.mean_y - b.slope * right.mean_x),
                         a.slope - b.slope);
        }
        const double place = meeting.best(0, data_.x()[i] - origin);
        return {i, data_.between(i, origin + place), left.cost + right.cost + meeting(place)};
    }

  private:
    const Centred& data_;
    Sides before_, after_;
};

// A line needs two points before it has a slope.
size_t enough(size_t least) { return std::max<size_t>(least, 2); }

}  // namespace

std::vector<double> hinge_costs(const Centred& data, size_t least, std::vector<double>* where) {
    const size_t n = data.count();
    std::vector<double> costs(n + 1, infinite);
    if (where) where->assign(n + 1, 0);
    const Hinges hinges(data);
    for (size_t i = enough(least); i + enough(least) <= n; ++i) {
        const Split split = hinges.at(i);
        costs[i] = split.cost;
        if (where) (*where)[i] = split.where;
    }
    return costs;
}

Split best_hinge(const Centred& data, size_t least) {
    const Hinges hinges(data);
    Split best{0, 0, infinite};
    for (size_t i = enough(least); i + enough(least) <= data.count(); ++i) {
        if (hinges.free_cost(i) >= best.cost) continue;
        const Split split = hinges.at(i);
        if (split.cost < best.cost) best = split;
    }
    return best.at ? best : Split{};
}

}  // namespace gnomon::segments
