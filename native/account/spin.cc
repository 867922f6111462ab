#include "account/spin.hh"

#include <cstring>

namespace gnomon::account {
namespace {

constexpr size_t reach = 160;    // bytes: a loop that waits is shorter
constexpr int most_ahead = 30;   // instructions looked through for the jump back
constexpr int most_reads = 12;   // instructions of a loop that only reads
constexpr int most_clock = 24;   // instructions of a loop that reads the time

enum class Does : uint8_t {
    unknown,   // not decoded: give up
    computes,  // anything else
    reads,     // a load, a copy, a comparison, a jump, a nop
    moves,     // simple arithmetic in registers
    pauses,
    clock,     // reads the time-stamp counter
    calls,
    leaves,    // ret, syscall, a jump to where a register says
};

struct Instruction {
    size_t length = 0;
    Does does = Does::unknown;
    bool jumps = false, always = false;
    int64_t by = 0;         // of a jump
    uint16_t uses = 0;      // registers in the address that it reads
    uint16_t defines = 0;   // registers that it writes, where it reads or moves
};

// How many bytes of immediate value follow, and whether an operand byte does.
enum Form : uint8_t { N, M, B, W4, MB, MW4, R1, R4, BAD };

// The map of one-byte opcodes, by rows of 16. Prefixes and 0F, C4, C5, 62 are met before.
Form one_byte(uint8_t op) {
    if (op < 0x40) {
        const uint8_t low = op & 7;
        return low < 4 ? M : low == 4 ? B : low == 5 ? W4 : BAD;
    }
    if (op >= 0x50 && op < 0x60) return N;
    if (op >= 0x70 && op < 0x80) return R1;
    if (op >= 0x84 && op < 0x90) return M;
    if (op >= 0x90 && op < 0xa0) return op == 0x9a ? BAD : N;
    if (op >= 0xb0 && op < 0xb8) return B;
    if (op >= 0xd8 && op < 0xe0) return M;
    switch (op) {
        case 0x63: case 0xd0: case 0xd1: case 0xd2: case 0xd3: case 0xfe: case 0xff: return M;
        case 0x68: case 0xa9: return W4;
        case 0x69: case 0x81: case 0xc7: return MW4;
        case 0x6a: case 0xa8: case 0xcd: return B;
        case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6: return MB;
        case 0xa4: case 0xa5: case 0xa6: case 0xa7: case 0xaa: case 0xab: case 0xac: case 0xad:
        case 0xae: case 0xaf: case 0xc3: case 0xc9: case 0xcc: case 0xf4: case 0xf5: case 0xf8:
        case 0xf9: case 0xfc: case 0xfd: return N;
        case 0xe0: case 0xe1: case 0xe2: case 0xe3: case 0xeb: return R1;
        case 0xe8: case 0xe9: return R4;
    }
    return BAD;
}

Form two_byte(uint8_t op) {
    if (op >= 0x80 && op < 0x90) return R4;
    if (op >= 0xc8 && op < 0xd0) return N;
    switch (op) {
        case 0x05: case 0x0b: case 0x31: case 0x77: case 0xa2: return N;
        case 0x70: case 0x71: case 0x72: case 0x73: case 0xa4: case 0xac: case 0xba: case 0xc2:
        case 0xc4: case 0xc5: case 0xc6: return MB;
    }
    const bool operand = op == 0x01 || op == 0x0d || (op >= 0x10 && op < 0x20) ||
                         (op >= 0x28 && op < 0x30) || (op >= 0x40 && op < 0x80) ||
                         (op >= 0x90 && op < 0xa0) || op == 0xa3 || op == 0xa5 || op == 0xab ||
                         (op >= 0xad && op < 0xc8) || op >= 0xd0;
    return operand ? M : BAD;
}

class Decoder {
public:
    Decoder(const uint8_t* code, size_t size) : code_(code), size_(size) {}

    Instruction at(size_t start) {
        start_ = at_ = start;
        bad_ = false;
        Instruction found;
        uint8_t rex = 0;
        bool narrow = false, repeat = false;
        uint8_t op = next();
        for (int prefixes = 0; prefix(op) && prefixes < 14; ++prefixes) {
            narrow |= op == 0x66;
            repeat |= op == 0xf3;
            op = next();
        }
        if ((op & 0xf0) == 0x40) {
            rex = op;
            op = next();
        }
        if (op == 0xc4 || op == 0xc5 || op == 0x62) {
            vector(op);
            found.does = Does::computes;
        } else if (op == 0x0f) {
            long_form(found, rex, repeat);
        } else {
            short_form(found, op, rex, narrow, repeat);
        }
        found.length = at_ - start_;
        if (bad_ || found.length > 15) found = {};
        return found;
    }

private:
    const uint8_t* code_;
    size_t size_, start_ = 0, at_ = 0;
    bool bad_ = false;
    uint8_t operand_ = 0;
    uint16_t uses_ = 0;

    static bool prefix(uint8_t op) {
        return op == 0x66 || op == 0x67 || op == 0xf2 || op == 0xf3 || op == 0xf0 || op == 0x2e ||
               op == 0x36 || op == 0x3e || op == 0x26 || op == 0x64 || op == 0x65;
    }

    uint8_t next() {
        if (at_ >= size_) {
            bad_ = true;
            return 0;
        }
        return code_[at_++];
    }

    void skip(size_t bytes) {
        at_ += bytes;
        if (at_ > size_) bad_ = true;
    }

    int64_t relative(size_t bytes) {
        if (at_ + bytes > size_) {
            bad_ = true;
            return 0;
        }
        int32_t value = 0;
        if (bytes == 1) {
            value = static_cast<int8_t>(code_[at_]);
        } else {
            std::memcpy(&value, code_ + at_, 4);
        }
        at_ += bytes;
        return value;
    }

    bool in_memory() const { return operand_ >> 6 != 3; }
    int field() const { return operand_ >> 3 & 7; }
    static uint16_t bit(int number) { return static_cast<uint16_t>(1u << number); }

    // The operand byte and what belongs to it; notes the registers of an address.
    void operand(uint8_t rex) {
        operand_ = next();
        uses_ = 0;
        const int mode = operand_ >> 6, base = operand_ & 7;
        if (mode == 3) return;
        if (base == 4) {
            const uint8_t scaled = next();
            const int index = (scaled >> 3 & 7) | (rex & 2 ? 8 : 0);
            if (index != 4) uses_ |= bit(index);
            if ((scaled & 7) == 5 && mode == 0) skip(4);
            else uses_ |= bit((scaled & 7) | (rex & 1 ? 8 : 0));
        } else if (base == 5 && mode == 0) {
            skip(4);  // relative to the instruction
        } else {
            uses_ |= bit(base | (rex & 1 ? 8 : 0));
        }
        skip(mode == 1 ? 1 : mode == 2 ? 4 : 0);
    }

    void vector(uint8_t op) {
        uint8_t map = 1;
        if (op == 0xc5) {
            next();
        } else {
            map = next() & (op == 0x62 ? 7 : 31);
            next();
            if (op == 0x62) next();
        }
        const uint8_t code = next();
        if (map == 1 && code == 0x77) return;
        operand(0);
        if (map == 3 || (map == 1 && ((code >= 0x70 && code < 0x74) || code == 0xc2 ||
                                      (code >= 0xc4 && code < 0xc7))))
            skip(1);
    }

    void long_form(Instruction& found, uint8_t rex, bool repeat) {
        const uint8_t op = next();
        found.does = Does::computes;
        if (op == 0x38 || op == 0x3a) {
            next();
            operand(rex);
            skip(op == 0x3a);
            return;
        }
        const Form form = two_byte(op);
        if (form == BAD) bad_ = true;
        if (form == M || form == MB) operand(rex);
        if (form == MB) skip(1);
        if (form == R4) {
            found.by = relative(4);
            found.jumps = true;
            found.does = Does::reads;
            return;
        }
        const int target = field() | (rex & 4 ? 8 : 0);
        if (op == 0x05 || op == 0x0b) found.does = Does::leaves;
        else if (op == 0x31 || (op == 0x01 && operand_ == 0xf9)) found.does = Does::clock;
        else if (op == 0xae && !in_memory()) found.does = repeat ? Does::pauses : Does::reads;
        else if (op == 0x1f || op == 0x1e || op == 0x0d || op == 0x18) found.does = Does::reads;
        else if (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf) load(found, target);
        else if (op == 0xb1 && in_memory()) {  // compares and exchanges: tries to take a lock
            found.does = Does::reads;
            found.uses = uses_;
            found.defines = bit(0);
        }
    }

    void load(Instruction& found, int target) {
        found.does = Does::reads;
        found.uses = uses_;
        found.defines = bit(target);
    }

    void short_form(Instruction& found, uint8_t op, uint8_t rex, bool narrow, bool repeat) {
        found.does = Does::computes;
        const size_t word = narrow ? 2 : 4;
        operand_ = 0;
        if (op >= 0xb8 && op < 0xc0) {
            skip(rex & 8 ? 8 : word);
            found.does = Does::reads;
            found.defines = bit((op & 7) | (rex & 1 ? 8 : 0));
            return;
        }
        if (op == 0xf6 || op == 0xf7) {
            operand(rex);
            if (field() > 1) return;
            skip(op == 0xf6 ? 1 : word);
            found.does = Does::reads;
            found.uses = uses_;
            return;
        }
        if (op == 0xc2) {
            skip(2);
            found.does = Does::leaves;
            return;
        }
        const Form form = one_byte(op);
        if (form == BAD) bad_ = true;
        if (form == M || form == MB || form == MW4) operand(rex);
        if (form == B || form == MB) skip(1);
        if (form == W4 || form == MW4) skip(word);
        if (form == R1 || form == R4) {
            found.by = relative(form == R1 ? 1 : 4);
            found.jumps = op != 0xe8;
            found.always = op == 0xe9 || op == 0xeb;
            found.does = op == 0xe8 ? Does::calls : Does::reads;
            return;
        }
        const int target = field() | (rex & 4 ? 8 : 0),
                  other = (operand_ & 7) | (rex & 1 ? 8 : 0);
        const bool compares = (op >= 0x38 && op < 0x3e) || op == 0x84 || op == 0x85 || op == 0xa8 ||
                              op == 0xa9 || ((op == 0x80 || op == 0x81 || op == 0x83) && field() == 7);
        if (op == 0x90) {
            found.does = repeat ? Does::pauses : Does::reads;
        } else if (compares) {
            found.does = Does::reads;
            found.uses = uses_;
        } else if (op == 0x8a || op == 0x8b || op == 0x63) {
            load(found, target);
        } else if (op == 0x86 || op == 0x87) {  // exchanges: tries to take a lock
            load(found, target);
            found.does = in_memory() ? Does::reads : Does::computes;
        } else if ((op == 0x31 || op == 0x33) && !in_memory()) {
            found.does = target == other ? Does::reads : Does::moves;
            found.defines = bit(target);
        } else if (op == 0xc3) {
            found.does = Does::leaves;
        } else if (op == 0xff && field() >= 2 && field() <= 5) {
            found.does = field() <= 3 ? Does::calls : Does::leaves;
        } else if (!in_memory() && (op == 0x88 || op == 0x89)) {
            found.does = Does::reads;
            found.defines = bit(other);
        } else if (!in_memory() && (op < 0x40 || op == 0x83 || op == 0xc1)) {
            found.does = Does::moves;
        }
    }

};

}  // namespace

Loop loop_at(const uint8_t* code, size_t size, size_t at) {
    Decoder decoder(code, size);
    size_t p = at;
    for (int ahead = 0; ahead < most_ahead; ++ahead) {
        const Instruction jump = decoder.at(p);
        if (!jump.length || jump.does == Does::leaves) return Loop::none;
        const size_t end = p + jump.length;
        const int64_t target = static_cast<int64_t>(end) + jump.by;
        if (jump.jumps && jump.by < 0 && target >= 0 && static_cast<size_t>(target) <= at &&
            at - static_cast<size_t>(target) < reach) {
            int count = 0, reads = 0, moves = 0;
            bool pauses = false, clock = false, calls = false, carried = false;
            uint16_t defined = 0, written = 0, early = 0;
            size_t q = static_cast<size_t>(target);
            while (q < end) {
                const Instruction each = decoder.at(q);
                if (!each.length) return Loop::none;
                q += each.length;
                ++count;
                reads += each.does == Does::reads;
                moves += each.does == Does::moves;
                pauses |= each.does == Does::pauses;
                clock |= each.does == Does::clock;
                calls |= each.does == Does::calls;
                early |= each.uses & ~defined;  // addresses from before, or from the last round
                defined |= each.defines;
                written |= each.defines;
            }
            carried = (early & written) != 0;  // walks through memory: a list, not a flag
            if (q == end) {
                if (pauses) return calls ? Loop::calls : Loop::spins;
                if (clock && count <= most_clock && reads + moves + 1 >= count) return Loop::spins;
                if (reads == count && count <= most_reads && !carried) return Loop::spins;
            }
            if (jump.always) return Loop::none;
        } else if (jump.always) {
            return Loop::none;
        }
        p = end;
    }
    return Loop::none;
}

}  // namespace gnomon::account
