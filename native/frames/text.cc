#include "frames/text.hh"

#include <charconv>
#include <vector>

#include "frames/symbols.hh"

namespace gnomon::frames {

void append_utf8(std::string& to, uint32_t letter) {
    if (letter < 0x80) {
        to += static_cast<char>(letter);
    } else if (letter < 0x800) {
        to += static_cast<char>(0xc0 | letter >> 6);
        to += static_cast<char>(0x80 | (letter & 0x3f));
    } else if (letter < 0x10000) {
        to += static_cast<char>(0xe0 | letter >> 12);
        to += static_cast<char>(0x80 | (letter >> 6 & 0x3f));
        to += static_cast<char>(0x80 | (letter & 0x3f));
    } else {
        to += static_cast<char>(0xf0 | letter >> 18);
        to += static_cast<char>(0x80 | (letter >> 12 & 0x3f));
        to += static_cast<char>(0x80 | (letter >> 6 & 0x3f));
        to += static_cast<char>(0x80 | (letter & 0x3f));
    }
}

bool decode_punycode(std::string_view text, std::string& out) {
    const size_t split = text.rfind('_');
    std::vector<uint32_t> letters;
    if (split != std::string_view::npos) {
        for (char each : text.substr(0, split)) letters.push_back(static_cast<uint8_t>(each));
        text.remove_prefix(split + 1);
    }
    uint64_t letter = 128, place = 0, bias = 72;
    bool first = true;
    while (!text.empty()) {
        const uint64_t before = place;
        uint64_t weight = 1;
        for (uint64_t k = 36;; k += 36) {
            if (text.empty()) return false;
            const char code = text.front();
            text.remove_prefix(1);
            uint64_t digit;
            if (code >= 'a' && code <= 'z')
                digit = static_cast<uint64_t>(code - 'a');
            else if (code >= '0' && code <= '9')
                digit = static_cast<uint64_t>(code - '0') + 26;
            else
                return false;
            place += digit * weight;
            const uint64_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
            if (digit < least) break;
            weight *= 36 - least;
            if (place > UINT32_MAX || weight > UINT32_MAX) return false;
        }
        const uint64_t count = letters.size() + 1;
        uint64_t delta = (place - before) / (first ? 700 : 2);
        first = false;
        delta += delta / count;
        bias = 0;
        for (; delta > 455; bias += 36) delta /= 35;
        bias += 36 * delta / (delta + 38);
        letter += place / count;
        place %= count;
        if (letter > 0x10ffff || count > 4096) return false;
        letters.insert(letters.begin() + static_cast<long>(place++), static_cast<uint32_t>(letter));
    }
    for (uint32_t each : letters) append_utf8(out, each);
    return true;
}

namespace {

// Letters that C++ names cannot have, in the older scheme.
constexpr struct {
    std::string_view code, text;
} escapes[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"}, {"$GT$", ">"},
               {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},  {"..", "::"}};

}  // namespace

std::string unescape_rust(std::string_view name) {
    std::string out;
    while (!name.empty()) {
        // A part that begins with an escape has a line before it.
        if (name.starts_with("_$") && (out.empty() || out.ends_with("::"))) name.remove_prefix(1);
        size_t used = 0;
        for (const auto& [code, text] : escapes)
            if (!used && name.starts_with(code)) {
                out += text;
                used = code.size();
            }
        if (!used && name.starts_with("$u")) {  // a code point in hexadecimal digits
            uint32_t letter = 0;
            const size_t end = name.find('$', 2);
            if (end != std::string_view::npos && end > 2 && end < 9) {
                const auto [stop, error] =
                    std::from_chars(name.data() + 2, name.data() + end, letter, 16);
                if (error == std::errc{} && stop == name.data() + end && letter <= 0x10ffff) {
                    append_utf8(out, letter);
                    used = end + 1;
                }
            }
        }
        if (!used) {
            out += name.front();
            used = 1;
        }
        name.remove_prefix(used);
    }
    return out;
}

}  // namespace gnomon::frames
