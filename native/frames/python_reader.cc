#include "frames/python_reader.hh"

#include <algorithm>

#include "frames/symbols.hh"

namespace gnomon::frames {

namespace {

constexpr int most_tries = 4;
constexpr size_t most_frames = 4000, most_threads = 10000, most_interpreters = 64;
constexpr uint64_t page = 4096, room_below = 1024;

template <typename T>
T value_at(const uint8_t* bytes, uint64_t offset) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
}

bool is_interpreter(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name.starts_with("python") || name.starts_with("libpython");
}

}  // namespace

std::unique_ptr<PythonReader> PythonReader::find(const Space& space, PythonFunctions& functions,
                                                 std::string& why) {
    std::unique_ptr<PythonReader> reader(new PythonReader(space, functions));
    const RemoteMemory& memory = reader->memory_;
    for (const Mapping& mapping : space.mappings()) {
        if (!mapping.module || !is_interpreter(mapping.module->path())) continue;
        const SymbolTable symbols(mapping.module->shared_image());
        const auto address_of = [&](const char* name) {
            uint64_t address = 0, size = 0;
            return symbols.address_of(name, address, size) ? address + mapping.bias : 0;
        };
        const Section* section = mapping.module->image().section(".PyRuntime");
        reader->runtime_ = section ? section->address + mapping.bias : address_of("_PyRuntime");
        if (!reader->runtime_) continue;
        reader->code_type_ = address_of("PyCode_Type");
        uint64_t words[debug_words];
        if (!memory.read(reader->runtime_, words, sizeof words)) {
            why = "its memory cannot be read";
            return nullptr;
        }
        auto layout = told_layout(std::span<const uint64_t, debug_words>(words));
        uint32_t version = 0;
        if (!layout)
            if (const uint64_t place = address_of("Py_Version")) {
                version = memory.value<uint32_t>(place);
                layout = known_layout(version);
            }
        if (layout) {
            reader->layout_ = *layout;
            return reader;
        }
        why = "its version of Python is not known here";
    }
    return nullptr;
}

void PythonReader::list_threads() {
    threads_.clear();
    uint64_t interpreter = memory_.value<uint64_t>(runtime_ + layout_.interpreters);
    for (size_t i = 0; interpreter && i < most_interpreters; ++i) {
        uint64_t thread = memory_.value<uint64_t>(interpreter + layout_.first_thread);
        for (size_t n = 0; thread && n < most_threads; ++n) {
            threads_[memory_.value<int>(thread + layout_.native_id)] = thread;
            thread = memory_.value<uint64_t>(thread + layout_.next_thread);
        }
        interpreter = memory_.value<uint64_t>(interpreter + layout_.next_interpreter);
    }
}

bool PythonReader::find_thread(int tid, uint64_t& thread) {
    for (int round = 0; round < 2; ++round) {
        const auto found = threads_.find(tid);
        if (found != threads_.end() &&
            memory_.value<int>(found->second + layout_.native_id) == tid) {
            thread = found->second;
            return true;
        }
        if (round == 0) list_threads();
    }
    return false;
}

// The part of the interpreter's stack of frames around the current one.
bool PythonReader::place_window(uint64_t thread, Window& window) const {
    const uint64_t first = memory_.value<uint64_t>(thread + layout_.current);
    window.cframe = layout_.by_cframe ? first : 0;
    const uint64_t current =
        layout_.by_cframe && first ? memory_.value<uint64_t>(first + layout_.cframe_current) : first;
    if (!current) return false;
    const uint64_t start = current & ~(page - 1);
    const uint64_t end = start + (current - start + layout_.frame_size() > page ? 2 : 1) * page;
    uint8_t byte;
    window.start = start > room_below && memory_.read(start - room_below, &byte, 1)
                       ? start - room_below
                       : start;
    window.size = end - window.start;
    return true;
}

// One call: the pointer, the frames, the frames again, the pointer again. What is the same in both
// copies did not change in between.
bool PythonReader::copy_twice(int tid, uint64_t thread, Window& window, Copy& first,
                              Copy& second) {
    const uint64_t current =
        layout_.by_cframe ? window.cframe + layout_.cframe_current : thread + layout_.current;
    int id = 0;
    uint64_t cframe[2] = {};
    first.bytes.resize(window.size);
    second.bytes.resize(window.size);
    const std::vector<RemotePart> parts = {
        {thread + layout_.native_id, &id, sizeof id},
        {thread + layout_.current, &cframe[0], 8},
        {current, &first.current, 8},
        {window.start, first.bytes.data(), window.size},
        {window.start, second.bytes.data(), window.size},
        {current, &second.current, 8},
        {thread + layout_.current, &cframe[1], 8},
    };
    size_t wanted = 0;
    for (const RemotePart& each : parts) wanted += each.size;
    if (memory_.read_parts(parts) != wanted || id != tid) return false;
    if (layout_.by_cframe && (cframe[0] != window.cframe || cframe[1] != window.cframe))
        return false;
    first.window = second.window = window;
    const auto inside = [&](uint64_t frame) {
        return frame == 0 || (frame >= window.start &&
                              frame + layout_.frame_size() <= window.start + window.size);
    };
    return inside(first.current) && inside(second.current);
}

// From the innermost frame outward; false when it is no chain.
bool PythonReader::chain(const Copy& copy, std::vector<Raw>& raw) const {
    raw.clear();
    const uint64_t size = layout_.frame_size();
    std::vector<uint8_t> more;  // callers lie below, mostly: their part is read at once
    uint64_t more_start = 0;
    for (uint64_t frame = copy.current; frame;) {
        if (raw.size() >= most_frames || frame + size < frame) return false;
        const uint8_t* bytes = nullptr;
        const Window& window = copy.window;
        if (frame >= window.start && frame + size <= window.start + window.size) {
            bytes = copy.bytes.data() + (frame - window.start);
        } else {
            if (more.empty() || frame < more_start || frame + size > more_start + more.size()) {
                more_start = frame & ~(page - 1);
                more.resize(frame + size - more_start);
                if (!memory_.read(more_start, more.data(), more.size())) return false;
            }
            bytes = more.data() + (frame - more_start);
        }
        Raw each;
        each.address = frame;
        each.code = value_at<uint64_t>(bytes, layout_.code) & ~uint64_t{3};
        each.previous = value_at<uint64_t>(bytes, layout_.previous);
        each.instruction = value_at<uint64_t>(bytes, layout_.instruction);
        each.owner = bytes[layout_.owner];
        each.entry = layout_.is_entry && bytes[layout_.is_entry];
        raw.push_back(each);
        frame = each.previous;
    }
    return true;
}

// Equal chains are the stack. Of others the outer frames that both have did not change; to drop
// such reads would hide functions that run briefly.
PythonRead PythonReader::settle(const std::vector<Raw>& first, const std::vector<Raw>& second,
                                bool complete, std::vector<Raw>& raw) const {
    size_t same = 0;
    while (same < first.size() && same < second.size() &&
           first[first.size() - 1 - same].same_frame(second[second.size() - 1 - same]))
        ++same;
    raw.assign(first.end() - static_cast<long>(same), first.end());
    return complete && same == first.size() && same == second.size() ? PythonRead::whole
                                                                     : PythonRead::outer;
}

PythonRead PythonReader::read(int tid, std::vector<PythonFrame>& frames) {
    frames.clear();
    uint64_t thread = 0;
    if (!find_thread(tid, thread)) return PythonRead::none;
    Window& window = windows_[thread];
    PythonRead result = PythonRead::failed;
    Copy first, second;
    std::vector<Raw> a, b, raw, best;
    for (int tried = 0; tried < most_tries; ++tried) {
        ++tries_;
        if (!window.size && !place_window(thread, window)) {
            window = {};
            return PythonRead::none;
        }
        if (!copy_twice(tid, thread, window, first, second)) {
            window = {};
            continue;
        }
        if (!first.current && !second.current) return PythonRead::none;
        const bool good_a = chain(first, a), good_b = chain(second, b);
        if (!good_a || !good_b) continue;
        const PythonRead now = settle(a, b, first.current == second.current, raw);
        if (raw.size() >= best.size() || now == PythonRead::whole) best = raw;
        if (result != PythonRead::whole) result = now;
        if (now == PythonRead::whole) break;
    }
    if (result == PythonRead::failed) return result;
    check_codes(best);
    if (!describe(thread, best, frames)) result = PythonRead::outer;
    for (size_t i = 0; i + 1 < frames.size(); ++i)
        callers_[frames[i].function] = frames[i + 1].function;
    return result;
}

// False when inner frames made no sense; then those outside of them are given.
bool PythonReader::describe(uint64_t thread, const std::vector<Raw>& raw,
                            std::vector<PythonFrame>& frames) {
    constexpr uint8_t shim = 3, last_owner = 4;  // 3.12 on: where C entered the interpreter
    bool sound = true;
    for (const Raw& each : raw) {
        if (!layout_.is_entry && each.owner >= shim && each.owner <= last_owner) {
            // 3.15 ends with one more, in the thread's own state.
            if (!frames.empty() && !frames.back().entry) {
                frames.back().entry = true;
                frames.back().anchor = each.address;
            }
            continue;
        }
        const Code* found = each.owner <= last_owner ? code(each.code) : nullptr;
        const auto offset =
            found ? static_cast<int64_t>(each.instruction - found->bytecode) : int64_t{0};
        if (!found || offset < -2 || offset > static_cast<int64_t>(found->size)) {
            frames.clear();
            sound = false;
            continue;
        }
        PythonFrame made;
        made.function = found->function;
        made.line = offset < 0 ? found->first_line : found->line_at(offset);
        made.entry = each.entry;
        frames.push_back(made);
    }
    if (!layout_.is_entry) return sound;
    // 3.11: each activation of the interpreter has a cframe on the C stack, in a chain. It begins
    // with the innermost, so it fits a chain of frames that is whole.
    std::vector<uint64_t> cframes;
    uint64_t cframe = memory_.value<uint64_t>(thread + layout_.current);
    while (cframe && cframes.size() < most_frames) {
        cframes.push_back(cframe);
        cframe = memory_.value<uint64_t>(cframe + layout_.cframe_previous);
    }
    if (!cframes.empty()) cframes.pop_back();  // the outermost one is the thread's own
    for (auto each = frames.rbegin(); each != frames.rend() && !cframes.empty(); ++each) {
        if (!each->entry) continue;
        each->anchor = cframes.back();
        cframes.pop_back();
    }
    return sound;
}

bool PythonReader::code_at(uint64_t address, CodePlace& place) const {
    auto after = by_bytecode_.upper_bound(address);
    if (after == by_bytecode_.begin()) return false;
    const auto found = codes_.find((--after)->second);
    if (found == codes_.end() || address - found->second.bytecode >= found->second.size)
        return false;
    // The register is one instruction ahead, or at it; both have this line, but for the first of
    // a line.
    const auto offset = std::max<int64_t>(0, static_cast<int64_t>(address - found->second.bytecode) - 2);
    place = {found->second.function, found->second.line_at(offset)};
    return true;
}

bool PythonReader::offer(Agreement& agreement, uint64_t word, uint32_t read, double& best,
                         CodePlace& place) {
    constexpr uint32_t enough = 1 << 16;  // then the older half counts half
    CodePlace found;
    if (!code_at(word, found)) return false;
    const double share = (agreement.agreed + 1.0) / (agreement.found + 2.0);
    if (share > best) {
        best = share;
        place = found;
    }
    ++agreement.found;
    agreement.agreed += found.function == read;
    if (agreement.found >= enough) agreement = {agreement.found / 2, agreement.agreed / 2};
    return true;
}

bool PythonReader::running(const Registers& registers, Bytes slots, uint32_t read,
                           CodePlace& place) {
    // Callee-saved registers first: compilers keep it in one of them.
    constexpr uint8_t order[] = {15, 14, 13, 12, 3, 6, 10, 0, 1, 2, 4, 5, 8, 9, 11};
    double best = 0;
    for (const uint8_t number : order)
        if (registers.knows(number))
            offer(agreements_[number], registers.value[number], read, best, place);
    if (best > 0) return true;
    constexpr size_t largest_frame = 1024;
    for (Cursor cursor(slots); cursor.left() >= 8 && slots.size() <= largest_frame;) {
        const uint64_t distance = cursor.left();
        const auto word = cursor.read<uint64_t>();
        if (CodePlace found; code_at(word, found))
            offer(slot_agreements_[distance], word, read, best, place);
    }
    return best > 0;
}

uint32_t PythonReader::caller_of(uint32_t function) const {
    const auto found = callers_.find(function);
    return found == callers_.end() ? no_id : found->second;
}

}  // namespace gnomon::frames
