#include "frames/row.hh"

namespace gnomon::frames {

namespace {

// DWARF 5, 7.24, and what GNU tools add.
enum Instruction : uint8_t {
    nop = 0x00,
    set_loc = 0x01,
    advance_loc1 = 0x02,
    advance_loc2 = 0x03,
    advance_loc4 = 0x04,
    offset_extended = 0x05,
    restore_extended = 0x06,
    undefined = 0x07,
    same_value = 0x08,
    in_register = 0x09,
    remember_state = 0x0a,
    restore_state = 0x0b,
    def_cfa = 0x0c,
    def_cfa_register = 0x0d,
    def_cfa_offset = 0x0e,
    def_cfa_expression = 0x0f,
    expression = 0x10,
    offset_extended_sf = 0x11,
    def_cfa_sf = 0x12,
    def_cfa_offset_sf = 0x13,
    val_offset = 0x14,
    val_offset_sf = 0x15,
    val_expression = 0x16,
    mips_advance_loc8 = 0x1d,
    gnu_args_size = 0x2e,
    gnu_negative_offset_extended = 0x2f,
    advance_loc = 0x40,  // with the number in the low six bits, as the next two
    offset = 0x80,
    restore = 0xc0,
};

constexpr size_t deepest_state = 256;

class Interpreter {
  public:
    Interpreter(Bytes file, const FrameProgram& program, uint64_t address)
        : file_(file), program_(program), address_(address), place_(program.start) {}

    Row run() {
        Row row;
        if (!execute(program_.initial, row, true)) return {};
        initial_ = row;
        place_ = program_.start;
        if (!execute(program_.own, row, false)) return {};
        if (row.cfa_register >= register_count && row.cfa_register != cfa_by_expression) return {};
        row.valid = true;
        row.signal = program_.signal;
        return row;
    }

  private:
    // False when the program is malformed. It ends, too, where the place is beyond the address.
    bool execute(Bytes bytes, Row& row, bool initial) {
        Cursor cursor(bytes);
        while (!cursor.done()) {
            const auto byte = cursor.read<uint8_t>();
            const auto kind = static_cast<uint8_t>(byte & 0xc0 ? byte & 0xc0 : byte);
            bool advances = false;
            if (!step(kind, byte & 0x3f, cursor, row, initial, advances) || !cursor.ok())
                return false;
            // What an initial program would say of places holds for none.
            if (advances && !initial && place_ > address_) return true;
        }
        return true;
    }

    bool step(uint8_t kind, uint8_t low, Cursor& cursor, Row& row, bool initial, bool& advances) {
        switch (kind) {
            case nop: return true;
            case gnu_args_size: cursor.uleb(); return true;
            case set_loc: {
                const auto here = program_.own_address;
                place_ = encoded_address(cursor, program_.encoding, here, 0);
                advances = true;
                return !initial;
            }
            case advance_loc: return advance(low, advances);
            case advance_loc1: return advance(cursor.read<uint8_t>(), advances);
            case advance_loc2: return advance(cursor.read<uint16_t>(), advances);
            case advance_loc4: return advance(cursor.read<uint32_t>(), advances);
            case mips_advance_loc8: return advance(cursor.read<uint64_t>(), advances);
            case offset: return set(row, low, Rule::at_offset, factored(cursor.uleb()));
            case restore: return restore_rule(row, low, initial);
            case restore_extended: return restore_rule(row, cursor.uleb(), initial);
            case remember_state:
                if (states_.size() >= deepest_state) return false;
                states_.push_back(row);
                return true;
            case restore_state:
                if (states_.empty()) return false;
                row = states_.back();
                states_.pop_back();
                return true;
            case def_cfa:
            case def_cfa_sf:
            case def_cfa_register:
            case def_cfa_offset:
            case def_cfa_offset_sf:
            case def_cfa_expression: return set_cfa(kind, cursor, row);
            default: return set_extended(kind, cursor, row);
        }
    }

    bool set_cfa(uint8_t kind, Cursor& cursor, Row& row) {
        if (kind == def_cfa_expression) {
            row.cfa_register = cfa_by_expression;
            row.cfa_value = take_expression(cursor);
            return true;
        }
        const bool names = kind == def_cfa || kind == def_cfa_sf || kind == def_cfa_register;
        if (names) {
            const uint64_t number = cursor.uleb();
            if (number >= register_count) return false;
            // A register alone after an expression would have no offset that means anything.
            if (kind == def_cfa_register && row.cfa_register == cfa_by_expression) return false;
            row.cfa_register = static_cast<uint8_t>(number);
        }
        if (kind == def_cfa_register) return true;
        if (row.cfa_register == cfa_by_expression) return false;
        const bool is_signed = kind == def_cfa_sf || kind == def_cfa_offset_sf;
        row.cfa_value = is_signed ? factored(static_cast<uint64_t>(cursor.sleb())) : cursor.uleb();
        return true;
    }

    bool set_extended(uint8_t kind, Cursor& cursor, Row& row) {
        const uint64_t number = cursor.uleb();
        switch (kind) {
            case offset_extended: return set(row, number, Rule::at_offset, factored(cursor.uleb()));
            case offset_extended_sf:
                return set(row, number, Rule::at_offset, factored(signed_of(cursor)));
            case gnu_negative_offset_extended:
                return set(row, number, Rule::at_offset, uint64_t{0} - factored(cursor.uleb()));
            case val_offset: return set(row, number, Rule::is_offset, factored(cursor.uleb()));
            case val_offset_sf: return set(row, number, Rule::is_offset, factored(signed_of(cursor)));
            case undefined: return set(row, number, Rule::undefined, 0);
            case same_value: return set(row, number, Rule::same, 0);
            case in_register: {
                const uint64_t other = cursor.uleb();
                return set(row, number, other < register_count ? Rule::in_register : Rule::undefined,
                           other < register_count ? other : 0);
            }
            case expression: return set(row, number, Rule::at_expression, take_expression(cursor));
            case val_expression:
                return set(row, number, Rule::is_expression, take_expression(cursor));
            default: return false;
        }
    }

    // Registers beyond those of the row, as of vectors, are nobody's question.
    static bool set(Row& row, uint64_t number, Rule rule, uint64_t value) {
        if (number >= register_count) return true;
        row.rule[number] = rule;
        row.value[number] = value;
        return true;
    }

    bool restore_rule(Row& row, uint64_t number, bool initial) const {
        if (initial) return false;  // there is nothing yet to go back to
        if (number >= register_count) return true;
        return set(row, number, initial_.rule[number], initial_.value[number]);
    }

    bool advance(uint64_t by, bool& advances) {
        advances = true;
        place_ += by * program_.code_align;
        return true;
    }

    // Unsigned, as it may wrap.
    uint64_t factored(uint64_t value) const {
        return value * static_cast<uint64_t>(program_.data_align);
    }

    static uint64_t signed_of(Cursor& cursor) { return static_cast<uint64_t>(cursor.sleb()); }

    // The place of an expression in the file, with its length; the cursor goes beyond it.
    uint64_t take_expression(Cursor& cursor) const {
        const Bytes rest = Cursor(cursor).take(cursor.left());
        const auto place = static_cast<uint64_t>(rest.data() - file_.data());
        cursor.skip(cursor.uleb());
        return place;
    }

    Bytes file_;
    const FrameProgram& program_;
    uint64_t address_;
    uint64_t place_;
    Row initial_;
    std::vector<Row> states_;
};

}  // namespace

Row row_at(Bytes file, const FrameProgram& program, uint64_t address) {
    return Interpreter(file, program, address).run();
}

uint64_t encoded_address(Cursor& cursor, uint8_t encoding, uint64_t here, uint64_t data) {
    constexpr uint8_t omitted = 0xff;
    if (encoding == omitted) return 0;
    const uint64_t place = here + cursor.position();
    uint64_t value = 0;
    switch (encoding & 0x0f) {
        case 0x00:
        case 0x04:
        case 0x0c: value = cursor.read<uint64_t>(); break;
        case 0x01: value = cursor.uleb(); break;
        case 0x02: value = cursor.read<uint16_t>(); break;
        case 0x03: value = cursor.read<uint32_t>(); break;
        case 0x09: value = static_cast<uint64_t>(cursor.sleb()); break;
        case 0x0a: value = static_cast<uint64_t>(int64_t{cursor.read<int16_t>()}); break;
        case 0x0b: value = static_cast<uint64_t>(int64_t{cursor.read<int32_t>()}); break;
        default: cursor.fail(); return 0;
    }
    switch (encoding & 0x70) {
        case 0x00: return value;
        case 0x10: return value + place;
        case 0x30: return value + data;
        default: cursor.fail(); return 0;  // relative to text or function: nothing makes them
    }
}

}  // namespace gnomon::frames
