// Accesses counted by words of 8 bytes and by who asks, in blocks of 64 bytes that are found once
// for all their words.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "advice/census.hh"

namespace gnomon::advice {

constexpr uint64_t tally_sources = 1024;  // nodes or threads, the unknown one among them

struct TallyCell {
    uint64_t key = 0;  // block * tally_sources + source + 1
    uint64_t remote = 0;  // of another node than that of the page, where both are known
    uint32_t thread = 0;
    uint32_t spare = 0;
    std::array<uint32_t, 8> accesses{};  // of each word; they stay at the largest number
    std::array<uint32_t, 8> writes{};
};

class Tally {
  public:
    // Sources and homes below zero are unknown.
    void add(uint64_t address, int source, int home, bool write);
    const std::vector<TallyCell>& cells() const { return cells_.all(); }

  private:
    Cells<TallyCell, &TallyCell::key> cells_{0};
};

}  // namespace gnomon::advice
