#include "advice/tally.hh"

#include <algorithm>
#include <limits>

namespace gnomon::advice {

namespace {

void count(uint32_t& number) { number += number != std::numeric_limits<uint32_t>::max(); }

}  // namespace

void Tally::add(uint64_t address, int source, int home, bool write) {
    const auto asking = static_cast<uint64_t>(
        std::clamp<int64_t>(source, -1, static_cast<int64_t>(tally_sources) - 2) + 1);
    TallyCell& cell = cells_.at(address / block_bytes * tally_sources + asking);
    const uint64_t word = address % block_bytes / 8;
    count(cell.accesses[word]);
    if (write) count(cell.writes[word]);
    cell.remote += source >= 0 && home >= 0 && source != home;
}

}  // namespace gnomon::advice
