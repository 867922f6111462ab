#include "machine/memory.hh"

#include <algorithm>
#include <bit>

namespace gnomon::machine {

Memory::Memory(uint64_t page_bytes, uint32_t line_bytes, Placement placement,
               std::vector<uint32_t> nodes)
    : page_shift_(static_cast<uint32_t>(std::countr_zero(page_bytes))),
      line_mask_(page_bytes / line_bytes - 1),
      table_(1024, nullptr) {
    rules_.push_back({0, ~uint64_t{0}, placement, std::move(nodes)});
}

void Memory::set_policy(uint64_t start, uint64_t bytes, Placement placement,
                        std::vector<uint32_t> nodes) {
    const uint64_t last = (start + bytes - 1) >> page_shift_;
    rules_.push_back({start >> page_shift_, last + 1, placement, std::move(nodes)});
}

void Memory::set_default(Placement placement, std::vector<uint32_t> nodes) {
    rules_.front() = {0, ~uint64_t{0}, placement, std::move(nodes)};
}

size_t Memory::bucket(uint64_t number) const {
    const size_t mask = table_.size() - 1;
    size_t at = (number * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (table_[at] && table_[at]->number != number) at = (at + 1) & mask;
    return at;
}

Page* Memory::find(uint64_t address) { return table_[bucket(address >> page_shift_)]; }

Page& Memory::find_or_place(uint64_t number, uint32_t toucher) {
    size_t at = bucket(number);
    if (table_[at]) return *table_[at];
    if (2 * (pages_.size() + 1) > table_.size()) {
        grow();
        at = bucket(number);
    }
    auto page = std::make_unique<Page>();
    page->number = number;
    page->node = place(number, toucher);
    page->lines = std::make_unique<Entry[]>(line_mask_ + 1);
    table_[at] = page.get();
    pages_.push_back(std::move(page));
    return *table_[at];
}

void Memory::grow() {
    table_.assign(table_.size() * 2, nullptr);
    for (const auto& page : pages_) table_[bucket(page->number)] = page.get();
}

uint32_t Memory::place(uint64_t number, uint32_t toucher) {
    auto rule = rules_.rbegin();
    while (number < rule->first || number >= rule->end) ++rule;
    const auto& nodes = rule->nodes;
    switch (rule->placement) {
        case Placement::bind: return nodes.front();
        case Placement::interleave: return nodes[number % nodes.size()];
        case Placement::round_robin: return nodes[rule->turn++ % nodes.size()];
        case Placement::first_touch: break;
    }
    // A node without memory of its own uses the first one that has some.
    const bool has_memory = std::find(nodes.begin(), nodes.end(), toucher) != nodes.end();
    return has_memory ? toucher : nodes.front();
}

}  // namespace gnomon::machine
