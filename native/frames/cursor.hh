// The one way in which bytes of files and of other processes are read: every step checks bounds.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace gnomon::frames {

using Bytes = std::span<const uint8_t>;

// Part of a file; empty when it does not lie in it as a whole.
inline Bytes part(Bytes whole, uint64_t offset, uint64_t size) {
    if (offset > whole.size() || size > whole.size() - offset) return {};
    return whole.subspan(offset, size);
}

// Reads forward. A read beyond the end gives zero and makes the cursor fail, for good: so a parser
// may read a whole structure and ask ok() once.
class Cursor {
  public:
    explicit Cursor(Bytes bytes, uint64_t at = 0) : bytes_(bytes), at_(at) {
        if (at > bytes.size()) fail();
    }

    bool ok() const { return ok_; }
    bool done() const { return at_ >= bytes_.size(); }
    uint64_t position() const { return at_; }
    uint64_t left() const { return bytes_.size() - at_; }

    template <typename T>
    T read() {
        T value{};
        if (left() < sizeof value) {
            fail();
            return value;
        }
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

    // Numbers of seven bits a byte; bits above the 64th are dropped.
    uint64_t uleb() { return leb(false); }
    int64_t sleb() { return static_cast<int64_t>(leb(true)); }

    Bytes take(uint64_t count) {
        if (count > left()) {
            fail();
            return {};
        }
        const Bytes taken = bytes_.subspan(at_, count);
        at_ += count;
        return taken;
    }

    void skip(uint64_t count) { take(count); }

    // For jumps of expressions, which may go back.
    void move(int64_t by) {
        const uint64_t target = at_ + static_cast<uint64_t>(by);
        if (target > bytes_.size())
            fail();
        else
            at_ = target;
    }

    // Text up to a zero byte, which must be there.
    std::string_view text() {
        const void* end = left() ? std::memchr(bytes_.data() + at_, 0, left()) : nullptr;
        if (!end) {
            fail();
            return {};
        }
        const auto* start = reinterpret_cast<const char*>(bytes_.data() + at_);
        const size_t length = static_cast<size_t>(static_cast<const char*>(end) - start);
        at_ += length + 1;
        return {start, length};
    }

    void fail() {
        ok_ = false;
        at_ = bytes_.size();
    }

  private:
    uint64_t leb(bool is_signed) {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = read<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
            shift += 7;
        } while (byte & 0x80);
        if (is_signed && shift < 64 && (byte & 0x40)) value |= ~uint64_t{0} << shift;
        return value;
    }

    Bytes bytes_;
    uint64_t at_;
    bool ok_ = true;
};

}  // namespace gnomon::frames
