// The readings that are near to a row: in what the fixed counters say, and in time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/sightings.hh"

namespace gnomon::estimate {

struct Near {
    float distance;
    uint32_t at;
};

// Notions of a state: the row and the one before; the one after as well; two more on either side;
// the ratios of the fixed counters as well.
enum State : size_t { kBegun, kAround, kWide, kRatio, kStates };
constexpr size_t kMostNear[kStates] = {5, 16, 5, 5};
constexpr size_t kMostInTime = 60;
constexpr double kNugget = 0.3;  // of kriging

// What is wanted of a search: a bit a state, and one for kriging.
using Wanted = unsigned;
constexpr Wanted kKriging = 1u << kStates;
constexpr Wanted kAllWanted = (kKriging << 1) - 1;

class Neighbours {
  public:
    // There must be a reading that is allowed.
    void find(const Sightings& sightings, const Allowed& allowed, const Place& place,
              const std::vector<float>& spread, Wanted wanted);

    std::vector<Near> states[kStates];  // the nearest first
    std::vector<uint32_t> in_time;      // the same
    std::vector<double> kriging;  // weights of the nearest of kAround
    double busier;  // how many times more the fixed counters count than around, at least 1

  private:
    void measure(const Sightings&, const Allowed&, const Place&, const std::vector<float>& per,
                 Wanted wanted);
    void order_by_time(const Sightings&, const Allowed&, int64_t row);
    void weigh(const Sightings&, const std::vector<float>& per);

    std::vector<float> late_;  // what readings are fined for distance in time
    std::vector<float> here_, beside_, ratio_, total_, least_;
};

}  // namespace gnomon::estimate
