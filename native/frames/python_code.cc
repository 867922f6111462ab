// Code objects of Python: names, lines, and stacks made of their frames and native ones.
#include <algorithm>

#include "frames/python_reader.hh"
#include "frames/text.hh"

namespace gnomon::frames {

namespace {

constexpr size_t most_codes = size_t{1} << 16, most_line_bytes = size_t{64} << 20;
constexpr uint64_t longest_name = 4096, longest_table = 1 << 20, largest_code = 1 << 24;

template <typename T>
T value_at(const std::vector<uint8_t>& bytes, uint64_t offset) {
    return Cursor(bytes, offset).read<T>();
}

uint64_t hash_of(const PythonFunctions::Function& function) {
    const std::hash<std::string> hash;
    return hash(function.name) * 31 + hash(function.file) * 7 +
           static_cast<uint64_t>(function.first_line);
}

}  // namespace

uint32_t PythonFunctions::intern(const Function& function) {
    const auto next = static_cast<uint32_t>(functions_.size());
    const uint32_t number = numbers_.find_or_add(
        hash_of(function), next, [&](uint32_t other) { return functions_[other] == function; });
    if (number == next) functions_.push_back(function);
    return number;
}

// The table of PEP 626 in the form of 3.11: a byte of kind and length, then differences.
int32_t PythonReader::Code::line_at(int64_t offset) const {
    const auto known = known_lines.find(offset);
    if (known != known_lines.end()) return known->second;
    Cursor cursor(lines);
    const auto number = [&] {
        uint32_t value = 0;
        uint8_t byte = 0;
        unsigned shift = 0;
        do {
            byte = cursor.read<uint8_t>();
            if (shift < 32) value |= uint32_t{byte & 0x3fu} << shift;
            shift += 6;
        } while (byte & 0x40);
        return value;
    };
    const auto difference = [&] {
        const uint32_t value = number();
        const auto size = static_cast<int64_t>(value >> 1);
        return value & 1 ? -size : size;
    };
    int64_t line = first_line, place = 0;
    bool none = false;
    while (!cursor.done()) {
        const auto head = cursor.read<uint8_t>();
        const int kind = head >> 3 & 15;
        place += ((head & 7) + 1) * 2;
        none = kind == 15;
        if (kind < 10) {
            cursor.skip(1);
        } else if (kind < 13) {
            line += kind - 10;
            cursor.skip(2);
        } else if (kind < 15) {
            line += difference();
            if (kind == 14)
                for (int columns = 0; columns < 3; ++columns) number();
        }
        if (offset < place) break;
    }
    const auto found = none || line < 0 || line > INT32_MAX ? -1 : static_cast<int32_t>(line);
    known_lines.emplace(offset, found);
    return found;
}

std::string PythonReader::text(uint64_t address) const {
    std::vector<uint8_t> head(64);
    if (layout_.text_length + 8 > head.size() || layout_.text_state + 4 > head.size()) return "?";
    if (!memory_.read(address, head.data(), head.size())) return "?";
    const auto length = value_at<uint64_t>(head, layout_.text_length);
    const auto state = value_at<uint32_t>(head, layout_.text_state);
    // interned : 2 (8 without a GIL from 3.14 on), kind : 3, compact : 1, ascii : 1
    const unsigned shift = layout_.free_threaded && layout_.minor() >= 14 ? 8 : 2;
    const unsigned kind = state >> shift & 7;
    const bool ascii = state >> (shift + 4) & 1;
    if (length > longest_name || (kind != 1 && kind != 2 && kind != 4)) return "?";
    std::vector<uint8_t> bytes(length * kind);
    const uint64_t longer_head = ascii ? 0 : layout_.minor() == 11 ? 24 : 16;
    const uint64_t start = address + layout_.ascii_text + longer_head;
    if (length && !memory_.read(start, bytes.data(), bytes.size())) return "?";
    std::string found;
    for (uint64_t i = 0; i < length; ++i) {
        uint32_t letter = 0;
        std::memcpy(&letter, bytes.data() + i * kind, kind);
        if (letter <= 0x10ffff) append_utf8(found, letter);
    }
    return found;
}

// Whether objects that are known are still the same, all in one call.
void PythonReader::check_codes(const std::vector<Raw>& raw) {
    std::vector<uint64_t> addresses;
    for (const Raw& each : raw)
        if (codes_.count(each.code)) addresses.push_back(each.code);
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    constexpr size_t most = 512;  // two parts each
    if (addresses.size() > most) addresses.resize(most);
    std::vector<std::pair<uint64_t, uint64_t>> now(addresses.size());
    std::vector<RemotePart> parts;
    for (size_t i = 0; i < addresses.size(); ++i) {
        parts.push_back({addresses[i] + layout_.name, &now[i].first, 8});
        parts.push_back({addresses[i] + layout_.lines, &now[i].second, 8});
    }
    const size_t checked = memory_.read_parts(parts) / 16;
    for (size_t i = 0; i < addresses.size(); ++i) {
        const Code& known = codes_[addresses[i]];
        if (i < checked && now[i].first == known.name_pointer &&
            now[i].second == known.lines_pointer)
            continue;
        by_bytecode_.erase(known.bytecode);
        codes_.erase(addresses[i]);
    }
}

const PythonReader::Code* PythonReader::code(uint64_t address) {
    const auto found = codes_.find(address);
    if (found != codes_.end()) return &found->second;
    std::vector<uint8_t> head(layout_.code_size());
    Code made;
    if (!memory_.read(address, head.data(), head.size()) || !read_code(address, head, made))
        return nullptr;
    if (codes_.size() >= most_codes || line_bytes_ > most_line_bytes) {
        codes_.clear();
        by_bytecode_.clear();
        line_bytes_ = 0;
    }
    line_bytes_ += made.lines.size();
    by_bytecode_[made.bytecode] = address;
    return &(codes_[address] = std::move(made));
}

bool PythonReader::read_code(uint64_t address, const std::vector<uint8_t>& head, Code& code) {
    constexpr uint64_t type_place = 8, size_place = 16;
    if (code_type_ && !layout_.free_threaded && value_at<uint64_t>(head, type_place) != code_type_)
        return false;
    const auto units = value_at<uint64_t>(head, size_place);
    code.name_pointer = value_at<uint64_t>(head, layout_.name);
    code.lines_pointer = value_at<uint64_t>(head, layout_.lines);
    code.first_line = value_at<int32_t>(head, layout_.first_line);
    code.bytecode = address + layout_.bytecode;
    code.size = 2 * units;
    const auto length = memory_.value<uint64_t>(code.lines_pointer + layout_.bytes_size);
    if (units > largest_code || length > longest_table) return false;
    code.lines.resize(length);
    if (length &&
        !memory_.read(code.lines_pointer + layout_.bytes_data, code.lines.data(), length))
        return false;
    code.function = functions_.intern({text(code.name_pointer),
                                       text(value_at<uint64_t>(head, layout_.file)),
                                       code.first_line});
    return true;
}

namespace {

// What ran when the sample was taken may have changed before the frames were read: the address of
// the next instruction is in a register of the interpreter. Corrects the innermost frames by it.
void correct_leaf(const Walk& walk, const StackCopy& stack, size_t interpreter,
                  PythonReader& reader, std::vector<PythonFrame>& python,
                  size_t group_end) {
    CodePlace place;
    if (walk.registers.size() <= interpreter || group_end == 0) return;
    const uint64_t start = walk.steps[interpreter].sp;
    const uint64_t end = walk.steps[interpreter + 1].sp;  // an activation is never the outermost
    const Bytes slots = part(stack.bytes, start - stack.start, end - start);
    if (!reader.running(walk.registers[interpreter], slots, python[0].function, place)) return;
    // It, or who was last seen to call it, is still there; what is inside of that came later.
    std::vector<PythonFrame> inner;
    uint32_t function = place.function;
    constexpr size_t most_returned = 16;
    while (function != no_id && inner.size() < most_returned) {
        for (size_t i = 0; i < group_end; ++i) {
            if (python[i].function != function) continue;
            if (inner.empty()) python[i].line = place.line;
            python.erase(python.begin(), python.begin() + static_cast<long>(i));
            python.insert(python.begin(), inner.begin(), inner.end());
            return;
        }
        inner.push_back({function, inner.empty() ? place.line : -1, false, 0});
        function = reader.caller_of(function);
    }
}

}  // namespace

Merged merge_python(const Walk& walk, const StackCopy& stack, std::vector<PythonFrame>& python,
                    PythonReader* reader, StackTable& table, std::vector<uint32_t>& numbers) {
    numbers.clear();
    Merged merged;
    const auto& steps = walk.steps;
    // Where the frames of one activation begin: after the next entry inside of it.
    const auto start_of = [&](size_t entry) {
        while (entry > 0 && !python[entry - 1].entry) --entry;
        return entry;
    };
    // Activations from the outermost inward, each inside of the one before: where one has no place,
    // those inside of it are of another moment.
    std::vector<std::pair<size_t, size_t>> groups;  // native step, and one beyond its last frame
    size_t limit = steps.size(), beyond = python.size();
    for (const PythonFrame& each : python) merged.entries += each.entry;
    for (size_t i = python.size(); i-- > 0;) {
        if (!python[i].entry) continue;
        size_t at = limit;
        while (at > 0 && python[i].anchor < steps[at - 1].sp) --at;
        if (at == steps.size() && walk.stop != Stop::end) {  // beyond the copied stack
            beyond = start_of(i);
            continue;
        }
        if (at == 0 || at == steps.size() || python[i].anchor >= steps[at].sp) break;
        groups.emplace_back(at - 1, i + 1);
        limit = at - 1;
        ++merged.placed;
    }
    std::reverse(groups.begin(), groups.end());
    if (!groups.empty() && merged.placed == merged.entries && reader) {
        const size_t before = python.size();
        correct_leaf(walk, stack, groups[0].first, *reader, python, groups[0].second);
        const size_t after = python.size();
        for (auto& group : groups) group.second = group.second + after - before;
        if (beyond != before) beyond = beyond + after - before;
        beyond = std::min(beyond, after);
    }
    const auto add = [&](size_t start, size_t end) {
        for (size_t i = start; i < end; ++i) {
            Frame frame;
            frame.module = python_module;
            frame.address = uint64_t{python[i].function} << 32 |
                            static_cast<uint32_t>(python[i].line);
            frame.quality = Quality::python;
            numbers.push_back(table.frame(frame));
        }
    };
    // What is inside of the innermost activation that has a place was not there at the sample.
    size_t next = groups.empty() ? python.size() : start_of(groups[0].second - 1);
    size_t group = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
        if (group < groups.size() && groups[group].first == step) {
            add(next, groups[group].second);
            next = groups[group++].second;
        } else {
            numbers.push_back(steps[step].frame);
        }
    }
    if (beyond < python.size()) add(groups.empty() ? beyond : next, python.size());
    return merged;
}

}  // namespace gnomon::frames
