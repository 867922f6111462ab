// Text as UTF-8, out of the forms in which symbols and interpreters keep it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gnomon::frames {

void append_utf8(std::string& to, uint32_t letter);

// RFC 3492, with '_' between the plain letters and the rest. False when it is malformed.
bool decode_punycode(std::string_view text, std::string& out);

}  // namespace gnomon::frames
