// What was timed: moments, and a histogram that is exact to 1 in 32.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace gnomon::messages {

struct Statistic {
    static constexpr int fine_bits = 5;

    int64_t count = 0, least = 0, most = 0;
    double sum = 0, squares = 0;
    std::vector<int64_t> buckets;

    static size_t bucket_of(uint64_t value) {
        if (value < (1u << fine_bits)) return value;
        const int shift = std::bit_width(value) - 1 - fine_bits;
        return (static_cast<size_t>(shift + 1) << fine_bits) + ((value >> shift) - (1u << fine_bits));
    }

    void add(int64_t value) {
        least = count ? std::min(least, value) : value;
        most = count ? std::max(most, value) : value;
        ++count;
        sum += static_cast<double>(value);
        squares += static_cast<double>(value) * static_cast<double>(value);
        const size_t bucket = bucket_of(static_cast<uint64_t>(std::max<int64_t>(value, 0)));
        if (bucket >= buckets.size()) buckets.resize(bucket + 1);
        ++buckets[bucket];
    }
};

}  // namespace gnomon::messages
