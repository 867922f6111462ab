#include "frames/call_frames.hh"

#include <algorithm>

namespace gnomon::frames {

namespace {

constexpr uint64_t pair_size = 8;
constexpr uint32_t long_entry = 0xffffffff;  // of more than 4 GB: nothing makes them
constexpr uint32_t largest_entry = 1 << 20;
constexpr size_t none = 0;

}  // namespace

CallFrames::CallFrames(const Image& image) : image_(image) {
    if (!image.is_x86_64()) return;
    read_header();
    if (table_.empty()) build_index();
}

void CallFrames::read_header() {
    const Bytes header = image_.at(image_.frame_header(), image_.frame_header_size());
    Cursor cursor(header);
    const auto version = cursor.read<uint8_t>();
    const auto pointer_encoding = cursor.read<uint8_t>();
    const auto count_encoding = cursor.read<uint8_t>();
    const auto table_encoding = cursor.read<uint8_t>();
    // All linkers write pairs relative to the header; anything else is walked instead.
    if (version != 1 || table_encoding != 0x3b) return;
    const uint64_t base = image_.frame_header();
    encoded_address(cursor, pointer_encoding, base, base);
    const uint64_t count = encoded_address(cursor, count_encoding, base, base);
    if (!cursor.ok() || count > cursor.left() / pair_size) return;
    table_ = cursor.take(count * pair_size);
    table_base_ = base;
}

// Static programs at a fixed address have .eh_frame, but no sorted table of it.
void CallFrames::build_index() {
    const Section* section = image_.section(".eh_frame");
    if (!section) return;
    const Bytes contents = image_.contents(*section);
    Cursor cursor(contents);
    while (cursor.ok() && cursor.left() >= 8) {
        const uint64_t position = cursor.position();
        const auto length = cursor.read<uint32_t>();
        if (length == long_entry) break;
        if (length == 0) continue;
        const Bytes block = cursor.take(length);
        if (!cursor.ok() || Cursor(block).read<uint32_t>() == 0) continue;  // a CIE
        const uint64_t place = section->address + position;
        const auto program = parse(part(contents, position, contents.size() - position), place);
        if (program && program->length) index_.push_back({program->start, place});
    }
    std::sort(index_.begin(), index_.end());
    index_.shrink_to_fit();
}

uint64_t CallFrames::entry_for(uint64_t address) const {
    if (table_.empty()) {
        const auto after = std::upper_bound(index_.begin(), index_.end(), Entry{address, 0});
        return after == index_.begin() ? none : (after - 1)->place;
    }
    const auto read = [&](size_t pair, size_t which) {
        int32_t distance;
        std::memcpy(&distance, table_.data() + pair * pair_size + which * 4, sizeof distance);
        return int64_t{distance};
    };
    const auto wanted = static_cast<int64_t>(address - table_base_);
    size_t low = 0, high = table_.size() / pair_size;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (read(middle, 0) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? none : table_base_ + static_cast<uint64_t>(read(low - 1, 1));
}

std::optional<FrameProgram> CallFrames::find(uint64_t address) const {
    const uint64_t place = entry_for(address);
    if (place == none) return std::nullopt;
    constexpr uint64_t length_size = 4;
    const auto length = Cursor(image_.at(place, length_size)).read<uint32_t>();
    if (length > largest_entry) return std::nullopt;
    const auto program = parse(image_.at(place, length_size + length), place);
    if (!program || address - program->start >= program->length) return std::nullopt;
    return program;
}

Row CallFrames::row(uint64_t address) const {
    const auto program = find(address);
    return program ? row_at(image_.bytes(), *program, address) : Row{};
}

std::vector<uint64_t> CallFrames::starts() const {
    std::vector<uint64_t> starts;
    for (const Entry& entry : index_) starts.push_back(entry.start);
    for (size_t i = 0; i < table_.size() / pair_size; ++i) {
        int32_t distance;
        std::memcpy(&distance, table_.data() + i * pair_size, sizeof distance);
        starts.push_back(table_base_ + static_cast<uint64_t>(int64_t{distance}));
    }
    return starts;
}

// `rest` begins with the entry's length, which is loaded at `place`.
std::optional<FrameProgram> CallFrames::parse(Bytes rest, uint64_t place) const {
    Cursor outer(rest);
    const auto length = outer.read<uint32_t>();
    if (length == 0 || length == long_entry) return std::nullopt;
    const Bytes block = outer.take(length);
    if (!outer.ok()) return std::nullopt;
    const uint64_t here = place + 4;
    Cursor cursor(block);
    const auto back = cursor.read<uint32_t>();
    if (back == 0) return std::nullopt;

    // The CIE lies before its FDE in the same part of the file.
    const auto at = static_cast<uint64_t>(block.data() - image_.bytes().data());
    if (back > at) return std::nullopt;
    const auto common_length = Cursor(image_.stored(at - back, 4)).read<uint32_t>();
    if (common_length > largest_entry) return std::nullopt;
    const Bytes common = image_.stored(at - back + 4, common_length);
    FrameProgram program;
    bool augmented = false;
    if (!parse_common(Cursor(common), program, augmented))
        return std::nullopt;

    constexpr uint8_t format = 0x0f;  // a length is no address: it is not relative to anything
    program.start = encoded_address(cursor, program.encoding, here, 0);
    program.length = encoded_address(cursor, program.encoding & format, here, 0);
    if (augmented) cursor.skip(cursor.uleb());
    if (!cursor.ok()) return std::nullopt;
    program.own_address = here + cursor.position();
    program.own = cursor.take(cursor.left());
    return program;
}

bool CallFrames::parse_common(Cursor cursor, FrameProgram& program, bool& augmented) const {
    if (cursor.read<uint32_t>() != 0) return false;
    const auto version = cursor.read<uint8_t>();
    if (version != 1 && version != 3) return false;
    const std::string_view augmentation = cursor.text();
    program.code_align = cursor.uleb();
    program.data_align = cursor.sleb();
    const uint64_t return_column = version == 1 ? cursor.read<uint8_t>() : cursor.uleb();
    if (return_column != return_register) return false;
    augmented = augmentation.starts_with('z');
    if (!augmented) {
        if (!augmentation.empty()) return false;
    } else {
        const uint64_t size = cursor.uleb();
        Cursor data(cursor.take(size));
        for (char letter : augmentation.substr(1)) {
            if (letter == 'R') {
                program.encoding = data.read<uint8_t>();
            } else if (letter == 'P') {
                const auto encoding = data.read<uint8_t>();
                encoded_address(data, encoding & 0x0f, 0, 0);
            } else if (letter == 'L') {
                data.read<uint8_t>();
            } else if (letter == 'S') {
                program.signal = true;
            } else {
                break;  // the size tells where the program begins, whatever follows
            }
        }
        if (!data.ok()) return false;
    }
    // An indirect address would be in the target's memory.
    if (!cursor.ok() || (program.encoding & 0x80)) return false;
    program.initial = cursor.take(cursor.left());
    return true;
}

}  // namespace gnomon::frames
