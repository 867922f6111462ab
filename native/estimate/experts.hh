// Simple guesses of an unread count from the readings of its event: the experts of the mixture.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "estimate/readings.hh"

namespace gnomon::estimate {

using Weighted = std::pair<double, double>;  // a value and its weight

// The value below which half of the weight is.
double weighted_median(std::vector<Weighted>& values);

class Experts {
  public:
    explicit Experts(size_t fixed_count);

    // How many guesses there are of a row, and of the next row.
    size_t count() const { return count_; }
    size_t ahead_count() const;

    // Writes the guess of every expert; the first is the reading nearest in time. `spread` is that
    // of the logarithm of each fixed counter. There must be a reading that is allowed.
    void guess(const Readings& readings, const Allowed& allowed, const Place& place,
               const std::vector<double>& spread, double* guesses);

    // The same for a row of which only what came before is known.
    void guess_ahead(const Readings& readings, const Allowed& allowed, const Place& place,
                     const std::vector<double>& spread, double* guesses);

    // The largest of the readings nearest in time to the row that was guessed last.
    double largest(const Readings& readings, size_t most) const;

  private:
    struct Near {
        double distance;
        size_t at;
    };

    void find_near(const Readings&, const Allowed&, const Place&, const std::vector<double>& spread,
                   bool ahead);
    void keep_near(size_t first, size_t most, std::vector<Near>& near) const;
    void order_by_time(const Readings&, const Allowed&, int64_t row);
    double carried(const Readings&, size_t at, const Place&, size_t way) const;
    double forgetting_mean(const Readings&, const Place&, size_t way, double forget) const;
    double interpolated(const Readings&, const Place&, size_t way) const;
    double gauss_markov(const Readings&, const Place&, size_t way) const;
    double typical(const Readings&, const Place&, const std::vector<Near>&, size_t most, size_t way,
                   bool median);

    size_t fixed_count_;
    size_t ways_;  // to carry a count to another row: as it is, or per count of a fixed counter
    size_t count_;
    std::vector<double> late_;             // what readings are fined for distance in time
    std::vector<double> part_, first_, distance_;  // of each reading that is allowed
    std::vector<std::vector<Near>> near_;  // for each notion of state, the nearest
    std::vector<size_t> in_time_;          // the nearest in time, nearest first
    std::vector<Weighted> sorting_;
};

}  // namespace gnomon::estimate
