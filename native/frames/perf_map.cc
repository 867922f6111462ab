#include <algorithm>
#include <charconv>

#include "frames/symbols.hh"

namespace gnomon::frames {

namespace {

constexpr size_t most_lines = size_t{1} << 22;

// Some JITs write 0x before a number.
bool hexadecimal(std::string_view& rest, uint64_t& value) {
    if (rest.starts_with("0x") || rest.starts_with("0X")) rest.remove_prefix(2);
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, 16);
    if (error != std::errc{} || stop == rest.data() + rest.size() || *stop != ' ') return false;
    rest.remove_prefix(static_cast<size_t>(stop - rest.data()) + 1);
    return true;
}

}  // namespace

PerfMap::PerfMap(std::string_view text) : text_(text.substr(0, UINT32_MAX)) {
    std::string_view rest = text_;
    for (uint32_t line = 0; !rest.empty() && line < most_lines; ++line) {
        const size_t end = rest.find('\n');
        if (end == std::string_view::npos) break;  // the writer has not finished it
        std::string_view row = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        Entry entry{};
        entry.line = line;
        if (!hexadecimal(row, entry.start) || !hexadecimal(row, entry.size)) continue;
        if (row.empty() || entry.size == 0 || entry.start + entry.size < entry.start) continue;
        entry.name = static_cast<uint32_t>(row.data() - text_.data());
        entry.length = static_cast<uint32_t>(row.size());
        entries_.push_back(entry);
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return a.start != b.start ? a.start < b.start : a.line < b.line;
    });
    uint64_t reach = 0;
    for (Entry& each : entries_) each.reach = reach = std::max(reach, each.start + each.size);
}

Symbol PerfMap::find(uint64_t address) const {
    const auto after =
        std::upper_bound(entries_.begin(), entries_.end(), address,
                         [](uint64_t value, const Entry& each) { return value < each.start; });
    constexpr int most_overlaps = 4096;  // a hostile file may have all lines cover each other
    const Entry* best = nullptr;
    int looked = 0;
    for (auto each = after; each != entries_.begin() && looked < most_overlaps; ++looked) {
        --each;
        if (each->reach <= address) break;
        if (address - each->start < each->size && (!best || each->line > best->line)) best = &*each;
    }
    if (!best) return {};
    return {std::string_view(text_).substr(best->name, best->length), best->start, best->size};
}

}  // namespace gnomon::frames
