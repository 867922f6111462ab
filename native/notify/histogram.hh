// Times in a log-linear histogram: fixed memory, a few nanoseconds to add to, 3 % wide bins.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gnomon::notify {

// A tick is a tenth of a nanosecond: batches of fast trips are shorter than whole ones tell.
constexpr uint64_t ticks_a_ns = 10;
constexpr unsigned sub_bits = 5;  // 32 bins for each power of two
constexpr uint64_t sub_bins = 1u << sub_bits;
constexpr unsigned value_bits = 40;  // up to 110 s; what is longer is counted as that
constexpr size_t bins = (value_bits - sub_bits) * sub_bins + sub_bins;

inline size_t bin_of(uint64_t ticks) {
    constexpr uint64_t most = (uint64_t{1} << value_bits) - 1;
    if (ticks > most) ticks = most;
    const unsigned width = static_cast<unsigned>(std::bit_width(ticks));
    const unsigned shift = width > sub_bits + 1 ? width - sub_bits - 1 : 0;
    return shift * sub_bins + static_cast<size_t>(ticks >> shift);
}

// The least value that falls into a bin.
inline uint64_t bin_start(size_t bin) {
    if (bin < 2 * sub_bins) return bin;
    const size_t shift = bin / sub_bins - 1;
    return (bin - shift * sub_bins) << shift;
}

}  // namespace gnomon::notify
