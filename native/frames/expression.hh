// DWARF expressions, as call frame instructions use them.
#pragma once

#include <optional>

#include "frames/row.hh"

namespace gnomon::frames {

// What an expression may read of the target; null pointers are never asked.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual std::optional<uint64_t> word(uint64_t address) const = 0;
};

// The value of an expression, whose length stands first at `place` of the file; `given` is on its
// stack at the start. Nothing when it needs a register that is not known, or memory that is not
// there, and when it is malformed or does not end.
std::optional<uint64_t> evaluate(Bytes file, uint64_t place, const Registers& registers,
                                 const Memory& memory, std::optional<uint64_t> given);

}  // namespace gnomon::frames
