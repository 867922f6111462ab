// Random work that is the same on every machine: integers and comparisons only, no logarithms.
#pragma once

#include <cmath>
#include <cstdint>

namespace gnomon::messages {

class Random {
public:
    Random(uint64_t seed, uint64_t stream)
        : state_(mix(mix(seed + step_) + (stream + 1) * step_)) {}

    uint64_t word() { return mix(state_ += step_); }

    // Below `count`, without the bias of a remainder.
    uint64_t below(uint64_t count) {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(word()) * count) >> 64);
    }

    double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }

    // Von Neumann's way: the lengths of falling runs of uniform numbers.
    double exponential() {
        for (int whole = 0;; ++whole) {
            const uint64_t start = word();
            uint64_t least = start;
            bool accepted = true;
            for (;;) {
                const uint64_t next = word();
                if (next >= least) break;
                least = next;
                accepted = !accepted;
            }
            if (accepted) return whole + static_cast<double>(start >> 11) * 0x1p-53;
        }
    }

private:
    static uint64_t mix(uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }

    static constexpr uint64_t step_ = 0x9e3779b97f4a7c15u;
    uint64_t state_;
};

}  // namespace gnomon::messages
