// Who touches what: references of each thread, counted by page and by block of 64 bytes, on
// their way from the program to the machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/program.hh"

namespace gnomon::advice {

constexpr uint32_t block_bytes = 64;

struct PageCell {
    uint64_t page = 0;
    uint32_t thread = 0;
    uint32_t spare = 0;
    uint64_t loads = 0;
    uint64_t stores = 0;
};

struct BlockCell {
    uint64_t block = 0;
    uint32_t thread = 0;
    uint32_t spare = 0;
    uint64_t loads = 0;
    uint64_t stores = 0;
    uint64_t read_bytes = 0;     // a bit each
    uint64_t written_bytes = 0;  // of atomics both
};

// Cells by number, found by open addressing; 0 marks a free place, so numbers begin at 1.
template <typename Cell, uint64_t Cell::*key>
class Cells {
  public:
    explicit Cells(uint32_t thread) : thread_(thread), table_(64, 0) {}

    Cell& at(uint64_t number) {
        if (recent_ < cells_.size() && cells_[recent_].*key == number) return cells_[recent_];
        size_t place = bucket(number);
        if (!table_[place]) {
            if (2 * (cells_.size() + 1) > table_.size()) {
                grow();
                place = bucket(number);
            }
            Cell cell;
            cell.*key = number;
            cell.thread = thread_;
            cells_.push_back(cell);
            table_[place] = static_cast<uint32_t>(cells_.size());
        }
        recent_ = table_[place] - 1;
        return cells_[recent_];
    }
    const std::vector<Cell>& all() const { return cells_; }
    void clear() {
        cells_.clear();
        table_.assign(64, 0);
        recent_ = 0;
    }

  private:
    size_t bucket(uint64_t number) const {
        const size_t mask = table_.size() - 1;
        size_t place = (number * 0x9E3779B97F4A7C15u >> 24) & mask;
        while (table_[place] && cells_[table_[place] - 1].*key != number)
            place = (place + 1) & mask;
        return place;
    }
    void grow() {
        table_.assign(2 * table_.size(), 0);
        for (size_t i = 0; i < cells_.size(); ++i)
            table_[bucket(cells_[i].*key)] = static_cast<uint32_t>(i + 1);
    }

    uint32_t thread_;
    std::vector<Cell> cells_;
    std::vector<uint32_t> table_;
    size_t recent_ = 0;
};

class Census {
  public:
    Census(uint32_t threads, uint64_t page_bytes);
    void count(uint32_t thread, uint64_t address, uint32_t bytes, bool reads, bool writes);
    // The references since the last call, by page and thread.
    std::vector<PageCell> take_pages();
    // All references, by block and thread.
    std::vector<BlockCell> blocks() const;

  private:
    uint64_t page_bytes_;
    std::vector<Cells<PageCell, &PageCell::page>> pages_;
    std::vector<Cells<BlockCell, &BlockCell::block>> blocks_;
};

// Passes on what a feed gives, and lets a census count it.
class CountedFeed final : public machine::Feed {
  public:
    CountedFeed(machine::Feed& inner, Census& census, uint32_t thread)
        : inner_(inner), census_(census), thread_(thread) {}
    machine::Supply pull(machine::Op* into, size_t room, size_t& given) override;
    bool wait(int milliseconds) override { return inner_.wait(milliseconds); }

  private:
    machine::Feed& inner_;
    Census& census_;
    uint32_t thread_;
    std::array<machine::Op, 128> ops_;
    size_t at_ = 0, filled_ = 0;
    machine::Supply supply_ = machine::Supply::more;
};

}  // namespace gnomon::advice
