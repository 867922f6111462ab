#include "frames/module.hh"

namespace gnomon::frames {

namespace {

constexpr size_t most_known = size_t{1} << 18;  // addresses; then the table starts anew
// What functions must keep for their callers: rbx, rbp, r12 to r15. rsp follows from the CFA.
constexpr uint32_t callee_saved = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12;

size_t place_of(uint64_t address, size_t mask) {
    return static_cast<size_t>((address * 0x9e3779b97f4a7c15ull) >> 32) & mask;
}

uint64_t hash_of(const Row& row) {
    uint64_t hash = row.cfa_register + row.cfa_value * 31 + (row.signal ? 7 : 0);
    for (size_t i = 0; i < register_count; ++i) {
        const uint64_t word = row.value[i] * 7 + static_cast<uint64_t>(row.rule[i]);
        hash = (hash ^ word) * 0x100000001b3ull;
    }
    return hash;
}

CompactRow compact(const Row& row) {
    CompactRow made;
    made.valid = row.valid;
    made.signal = row.signal;
    made.cfa_register = row.cfa_register;
    made.cfa_value = row.cfa_value;
    // A signal interrupts anywhere: its frame tells of all registers, or they are as they were.
    made.kept = row.signal ? (1u << register_count) - 1 : callee_saved;
    for (uint8_t i = 0; i < register_count; ++i) {
        if (row.rule[i] == Rule::same) continue;
        // No frame is of 2 GB, and no table that real files have lies beyond 4 GB.
        const CompactRow::Saved saved{i, row.rule[i], static_cast<uint32_t>(row.value[i])};
        const bool is_place = row.rule[i] == Rule::at_expression ||
                              row.rule[i] == Rule::is_expression;
        if ((is_place ? saved.place() : saved.offset()) != row.value[i]) made.valid = false;
        made.saved[made.count++] = saved;
        made.kept |= 1u << i;  // the rule decides
    }
    return made;
}

}  // namespace

Module::Module(uint32_t id, std::string path, std::shared_ptr<const Image> image)
    : id_(id), path_(std::move(path)), image_(std::move(image)), call_frames_(*image_),
      known_(256), is_go_(image_->section(".gopclntab") || image_->section(".data.rel.ro.gopclntab")) {
    intern(Row{});  // number 0: no unwind table
}

Known& Module::at(uint64_t address) {
    const size_t mask = known_.size() - 1;
    size_t i = place_of(address, mask);
    while (known_[i].address != address) {
        if (known_[i].address == no_address) break;
        i = (i + 1) & mask;
    }
    if (known_[i].address == address) return known_[i];
    if (address == no_address) {  // the mark of a free place
        static thread_local Known nothing;
        nothing = {};
        return nothing;
    }
    if (2 * used_ >= known_.size()) {
        grow();
        return at(address);
    }
    ++used_;
    known_[i] = {address, intern(call_frames_.row(address)), no_id};
    return known_[i];
}

void Module::grow() {
    std::vector<Known> old;
    old.swap(known_);
    used_ = 0;
    if (old.size() >= 2 * most_known) {
        known_.resize(256);
        return;
    }
    known_.resize(2 * old.size());
    const size_t mask = known_.size() - 1;
    for (const Known& each : old) {
        if (each.address == no_address) continue;
        size_t i = place_of(each.address, mask);
        while (known_[i].address != no_address) i = (i + 1) & mask;
        known_[i] = each;
        ++used_;
    }
}

uint32_t Module::intern(const Row& row) {
    if (!row.valid && !rows_.empty()) return 0;
    const uint64_t hash = hash_of(row);
    const auto [first, last] = row_ids_.equal_range(hash);
    for (auto each = first; each != last; ++each)
        if (full_rows_[each->second] == row) return each->second;
    const auto number = static_cast<uint32_t>(rows_.size());
    rows_.push_back(compact(row));
    full_rows_.push_back(row);
    row_ids_.emplace(hash, number);
    return number;
}

uint64_t Module::function(uint64_t address) const {
    const auto program = call_frames_.find(address);
    return program ? program->start : no_address;
}

size_t Module::memory() const {
    return known_.size() * sizeof(Known) + rows_.size() * (sizeof(CompactRow) + sizeof(Row) + 48);
}

}  // namespace gnomon::frames
