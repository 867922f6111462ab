#include "frames/expression.hh"

#include <array>
#include <utility>

namespace gnomon::frames {

namespace {

// DWARF 5, 7.7.1.
enum Operation : uint8_t {
    deref = 0x06,
    const1u = 0x08,
    const1s = 0x09,
    const2u = 0x0a,
    const2s = 0x0b,
    const4u = 0x0c,
    const4s = 0x0d,
    const8u = 0x0e,
    const8s = 0x0f,
    constu = 0x10,
    consts = 0x11,
    dup = 0x12,
    drop = 0x13,
    over = 0x14,
    pick = 0x15,
    swap = 0x16,
    rot = 0x17,
    abs_ = 0x19,
    and_ = 0x1a,
    div_ = 0x1b,
    minus = 0x1c,
    mod = 0x1d,
    mul = 0x1e,
    neg = 0x1f,
    not_ = 0x20,
    or_ = 0x21,
    plus = 0x22,
    plus_uconst = 0x23,
    shl = 0x24,
    shr = 0x25,
    shra = 0x26,
    xor_ = 0x27,
    bra = 0x28,
    eq = 0x29,
    ge = 0x2a,
    gt = 0x2b,
    le = 0x2c,
    lt = 0x2d,
    ne = 0x2e,
    skip = 0x2f,
    lit0 = 0x30,
    lit31 = 0x4f,
    breg0 = 0x70,
    breg31 = 0x8f,
    bregx = 0x92,
    deref_size = 0x94,
    nop = 0x96,
};

constexpr size_t deepest_stack = 64;
constexpr int most_operations = 4096;  // loops are legal, and hostile ones do not end

class Machine {
  public:
    Machine(Bytes bytes, const Registers& registers, const Memory& memory)
        : cursor_(bytes), registers_(registers), memory_(memory) {}

    std::optional<uint64_t> run(std::optional<uint64_t> given) {
        if (given) push(*given);
        for (int done = 0; !cursor_.done(); ++done) {
            if (done >= most_operations) return std::nullopt;
            step(cursor_.read<uint8_t>());
            if (!good_ || !cursor_.ok()) return std::nullopt;
        }
        if (depth_ == 0 || !cursor_.ok()) return std::nullopt;
        return stack_[depth_ - 1];
    }

  private:
    void push(uint64_t value) {
        if (depth_ == deepest_stack)
            good_ = false;
        else
            stack_[depth_++] = value;
    }

    void push_signed(int64_t value) { push(static_cast<uint64_t>(value)); }

    uint64_t pop() {
        if (depth_ == 0) {
            good_ = false;
            return 0;
        }
        return stack_[--depth_];
    }

    // The entry so far below the top.
    uint64_t below(uint64_t count) {
        if (count >= depth_) {
            good_ = false;
            return 0;
        }
        return stack_[depth_ - 1 - count];
    }

    void push_register(uint64_t number) {
        const auto offset = static_cast<uint64_t>(cursor_.sleb());
        if (number >= register_count || !registers_.knows(number))
            good_ = false;
        else
            push(registers_.value[number] + offset);
    }

    void load(uint8_t size) {
        const auto word = memory_.word(pop());
        if (!word || size == 0 || size > 8)
            good_ = false;
        else
            push(size == 8 ? *word : *word & ((uint64_t{1} << (size * 8)) - 1));
    }

    void step(uint8_t code) {
        if (code >= lit0 && code <= lit31) return push(code - lit0);
        if (code >= breg0 && code <= breg31) return push_register(code - breg0);
        switch (code) {
            case nop: return;
            case deref: return load(8);
            case deref_size: return load(cursor_.read<uint8_t>());
            case const1u: return push(cursor_.read<uint8_t>());
            case const1s: return push_signed(cursor_.read<int8_t>());
            case const2u: return push(cursor_.read<uint16_t>());
            case const2s: return push_signed(cursor_.read<int16_t>());
            case const4u: return push(cursor_.read<uint32_t>());
            case const4s: return push_signed(cursor_.read<int32_t>());
            case const8u:
            case const8s: return push(cursor_.read<uint64_t>());
            case constu: return push(cursor_.uleb());
            case consts: return push_signed(cursor_.sleb());
            case bregx: return push_register(cursor_.uleb());
            case dup: return push(below(0));
            case drop: pop(); return;
            case over: return push(below(1));
            case pick: return push(below(cursor_.read<uint8_t>()));
            case plus_uconst: return push(pop() + cursor_.uleb());
            case neg: return push(uint64_t{0} - pop());
            case not_: return push(~pop());
            case abs_: {
                const uint64_t value = pop();
                return push(static_cast<int64_t>(value) < 0 ? uint64_t{0} - value : value);
            }
            case swap:
            case rot: return reorder(code == swap ? 2 : 3);
            case skip: return cursor_.move(cursor_.read<int16_t>());
            case bra: {
                const auto distance = cursor_.read<int16_t>();
                if (pop() != 0) cursor_.move(distance);
                return;
            }
            default: return combine(code);
        }
    }

    // The top goes below the others of so many.
    void reorder(size_t count) {
        if (depth_ < count) {
            good_ = false;
            return;
        }
        for (size_t i = depth_ - 1; i > depth_ - count; --i) std::swap(stack_[i], stack_[i - 1]);
    }

    void combine(uint8_t code) {
        const uint64_t right = pop(), left = pop();
        const auto a = static_cast<int64_t>(left), b = static_cast<int64_t>(right);
        switch (code) {
            case and_: return push(left & right);
            case or_: return push(left | right);
            case xor_: return push(left ^ right);
            case plus: return push(left + right);
            case minus: return push(left - right);
            case mul: return push(left * right);
            // The one quotient that does not fit wraps, as the smallest number divided by -1 does.
            case div_:
                if (b == 0) return fail();
                return b == -1 ? push(uint64_t{0} - left) : push_signed(a / b);
            case mod: return right == 0 ? fail() : push(left % right);
            case shl: return push(right > 63 ? 0 : left << right);
            case shr: return push(right > 63 ? 0 : left >> right);
            case shra: return push_signed(a >> (right > 63 ? 63 : right));
            case eq: return push(a == b);
            case ne: return push(a != b);
            case ge: return push(a >= b);
            case gt: return push(a > b);
            case le: return push(a <= b);
            case lt: return push(a < b);
            default: return fail();
        }
    }

    void fail() { good_ = false; }

    Cursor cursor_;
    const Registers& registers_;
    const Memory& memory_;
    std::array<uint64_t, deepest_stack> stack_;
    size_t depth_ = 0;
    bool good_ = true;
};

}  // namespace

std::optional<uint64_t> evaluate(Bytes file, uint64_t place, const Registers& registers,
                                 const Memory& memory, std::optional<uint64_t> given) {
    Cursor cursor(file, place);
    const uint64_t length = cursor.uleb();
    const Bytes bytes = cursor.take(length);
    if (!cursor.ok()) return std::nullopt;
    return Machine(bytes, registers, memory).run(given);
}

}  // namespace gnomon::frames
