// Exact segmented least squares: where a series is best cut into pieces of simple shape.
//
// The cost of a piece is its residual sum of squares. It is never taken as a difference of
// large sums: a piece that grows by a point adds the square of what the point was off, so
// that values of 1e12 with a spread of 1 lose nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace gnomon::segments {

// What a piece is fitted by: its mean, or a line over x.
enum class Shape { level, line };

// One or several series over the same ascending x; series s has its values at y + s * count.
struct Data {
    const double* x;
    const double* y;
    size_t count;
    size_t series;
};

// The same with x counted in mean steps from the first, and each series from its own first
// value. Differences of whole numbers are exact, so an offset of all values changes nothing.
class Centred {
  public:
    explicit Centred(const Data& data);
    size_t count() const { return count_; }
    size_t series() const { return series_; }
    const double* x() const { return x_.data(); }
    const double* y(size_t series = 0) const { return y_.data() + series * count_; }
    // A centred x between two points, the first of which is before `point`, as it was given.
    double between(size_t point, double x) const;

  private:
    size_t count_, series_;
    double origin_, step_;
    const double* given_;
    std::vector<double> x_, y_;
};

struct Split {
    size_t at = 0;    // points before the break; 0 when there is no room for one
    double where = 0;  // on x: between two points, or where the two lines meet
    double cost = 0;
};

struct Partition {
    std::vector<size_t> breaks;  // the first point of every piece but the first
    double cost = 0;
};

// The cost of one piece over all points.
double whole_cost(const Centred& data, Shape shape);
// The cost of a break before point i, for every i; infinite where a side has under `least`.
std::vector<double> split_costs(const Centred& data, Shape shape, size_t least);
Split best_split(const Centred& data, Shape shape, size_t least);

// Two lines that meet somewhere between the points i - 1 and i, for every i. The place where
// they meet goes to `where` if it is given.
std::vector<double> hinge_costs(const Centred& data, size_t least, std::vector<double>* where);
Split best_hinge(const Centred& data, size_t least);

// The best partitions into 1, 2, ... `most` pieces, as far as there are points for them.
std::vector<Partition> partitions(const Centred& data, Shape shape, size_t least, size_t most);

}  // namespace gnomon::segments
