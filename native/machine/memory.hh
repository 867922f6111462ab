// Pages and the directory: where a page lives, and which caches hold each of its lines.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/types.hh"

namespace gnomon::machine {

// What the directory knows of one line. It is exact: caches report what they drop.
struct Entry {
    uint64_t cores = 0;      // with a copy in a cache of their own
    uint32_t clusters = 0;   // whose shared last level has a copy
    int16_t owner = -1;      // the core that may write without asking (E or M)
    int16_t dirty_cluster = -1;  // whose last level is newer than memory
};

struct Page {
    uint64_t number = 0;
    uint32_t node = 0;
    std::unique_ptr<Entry[]> lines;
};

class Memory {
  public:
    Memory(uint64_t page_bytes, uint32_t line_bytes, Placement placement,
           std::vector<uint32_t> nodes);

    uint64_t page_of(uint64_t address) const { return address >> page_shift_; }
    // The page of an address, placed now if it is new; `toucher` is the node that asks.
    Page& page(uint64_t address, uint32_t toucher) {
        if (Page* page = recent(address)) return *page;
        const uint64_t number = address >> page_shift_;
        Page& page = find_or_place(number, toucher);
        recent_[recent_index(number)] = &page;
        return page;
    }
    // The same for a page that was asked for lately, else null.
    Page* recent(uint64_t address) const {
        const uint64_t number = address >> page_shift_;
        Page* page = recent_[recent_index(number)];
        return page && page->number == number ? page : nullptr;
    }
    Page* find(uint64_t address);
    Entry& entry(Page& page, uint64_t line) const { return page.lines[line & line_mask_]; }
    uint64_t lines_per_page() const { return line_mask_ + 1; }
    uint64_t page_bytes() const { return uint64_t{1} << page_shift_; }
    // How pages of a range that are not placed yet will be placed; later rules win.
    void set_policy(uint64_t start, uint64_t bytes, Placement placement,
                    std::vector<uint32_t> nodes);
    void set_default(Placement placement, std::vector<uint32_t> nodes);
    // How many pages were placed, and on which node each is, in order of placement.
    const std::vector<std::unique_ptr<Page>>& pages() const { return pages_; }

  private:
    static constexpr uint32_t recent_bits = 12;
    struct Rule {
        uint64_t first, end;  // pages
        Placement placement;
        std::vector<uint32_t> nodes;
        uint64_t turn = 0;
    };
    // Threads often go through arrays in step whose pages differ in their highest bits only.
    static size_t recent_index(uint64_t number) {
        return number * 0x9E3779B97F4A7C15u >> (64 - recent_bits);
    }
    Page& find_or_place(uint64_t number, uint32_t toucher);
    uint32_t place(uint64_t number, uint32_t toucher);
    size_t bucket(uint64_t number) const;
    void grow();

    uint32_t page_shift_;
    uint64_t line_mask_;
    std::vector<Rule> rules_;
    std::vector<std::unique_ptr<Page>> pages_;
    std::vector<Page*> table_;  // open addressing, a power of two
    std::array<Page*, size_t{1} << recent_bits> recent_{};  // spares most searches
};

}  // namespace gnomon::machine
