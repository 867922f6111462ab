// Sums that tell whether rows are what was written: against torn pages and bit rot, not adversaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gnomon::traces {

// A value counts by its row in the block and by its column, so that rows may be added in any number
// at a time: the sum of a block is that of its parts.
inline uint64_t term(uint64_t value, uint32_t row, uint32_t column) {
    const uint32_t low = static_cast<uint32_t>(value) + (row * 0x9E3779B1u + column * 0x7FEB352Du);
    const uint32_t high =
        static_cast<uint32_t>(value >> 32) + ((row * 0x85EBCA77u + column * 0x846CA68Bu) | 1u);
    return static_cast<uint64_t>(low) * high;
}

template <typename T>
uint64_t sum_of(const T* values, uint32_t row, size_t count, uint32_t column) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += term(static_cast<uint64_t>(values[i]), row + static_cast<uint32_t>(i), column);
    return sum;
}

inline uint64_t digest(const void* data, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    uint64_t hash = bytes * 0x9E3779B97F4A7C15u + 1;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    std::memcpy(&rest, at, bytes);
    hash = (hash ^ rest) * 0xC4CEB9FE1A85EC53u;
    return hash ^ (hash >> 29);
}

}  // namespace gnomon::traces
