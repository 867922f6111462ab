#include "frames/walk.hh"

#include <algorithm>

namespace gnomon::frames {

namespace {

constexpr uint64_t lowest_code = 4096;
constexpr uint64_t scan_room = 4096;     // how far a guess looks
constexpr uint64_t frame_reach = 4096;   // what lies further below the stack is no saved register

class StackMemory final : public Memory {
  public:
    StackMemory(const Space& space, const StackCopy& stack) : space_(space), stack_(stack) {}

    bool stacked(uint64_t address, uint64_t& word) const {
        const uint64_t inside = address - stack_.start;  // wraps below the start
        if (inside >= stack_.bytes.size() || stack_.bytes.size() - inside < sizeof word)
            return false;
        std::memcpy(&word, stack_.bytes.data() + inside, sizeof word);
        return true;
    }
    std::optional<uint64_t> word(uint64_t address) const override {
        uint64_t value;
        if (stacked(address, value)) return value;
        const Bytes code = space_.code(address, sizeof value);
        if (code.empty()) return std::nullopt;
        std::memcpy(&value, code.data(), sizeof value);
        return value;
    }
    uint64_t start() const { return stack_.start; }
    uint64_t end() const { return stack_.start + stack_.bytes.size(); }

  private:
    const Space& space_;
    const StackCopy& stack_;
};

bool begins_with(Bytes bytes, std::initializer_list<uint8_t> pattern) {
    return bytes.size() >= pattern.size() &&
           std::equal(pattern.begin(), pattern.end(), bytes.begin());
}

bool is_plt(Bytes code) {
    return begins_with(code, {0xff, 0x25}) || begins_with(code, {0xf2, 0xff, 0x25}) ||
           begins_with(code, {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25}) ||
           begins_with(code, {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25});
}

// Calls through registers and memory, by the end of the instruction: `p` is one beyond it.
bool is_indirect_call(const uint8_t* p) {
    return (p[-2] == 0xff && (p[-1] & 0x38) == 0x10) ||                      // register, memory
           (p[-3] == 0xff && (p[-2] & 0xf8) == 0x50) ||                      // 8-bit distance
           (p[-4] == 0xff && p[-3] == 0x54) ||                               // and an index
           (p[-6] == 0xff && ((p[-5] & 0xf8) == 0x90 || p[-5] == 0x15)) ||   // 32-bit, or to rip
           (p[-7] == 0xff && p[-6] == 0x94);
}

class Walker {
  public:
    Walker(const Space& space, const StackCopy& stack, const Registers& registers,
           WalkOptions options, Walk& walk)
        : space_(space), memory_(space, stack), now_(registers), options_(options), walk_(walk) {}

    Stop run() {
        uint64_t last_cfa = 0;
        const Mapping* where = space_.find(now_.value[return_register]);
        for (size_t depth = 0; depth < deepest_walk; ++depth) {
            pc_ = now_.value[return_register];
            where_ = where;
            depth_ = depth;
            const uint64_t inside = pc_ - (exact_ ? 0 : 1);  // after a call may be another function
            Known* known = nullptr;
            if (where && where->module) known = &where->module->at(inside - where->bias);
            add_step(known);
            const CompactRow* row = known ? &where->module->row(known->row) : nullptr;
            const bool by_table = row && row->valid;
            after_signal_ = false;
            next_ = now_;
            const auto stop = by_table ? step_by_table(*row, inside) : step_without_table();
            if (stop) return *stop;
            if (next_.value[return_register] == 0) return Stop::end;
            if (cfa_ <= last_cfa && depth > 0 && !after_signal_) return Stop::bad_address;
            exact_ = after_signal_;
            where = space_.find(next_.value[return_register] - (exact_ ? 0 : 1));
            if (!where) return Stop::bad_address;
            last_cfa = cfa_;
            now_ = next_;
            now_.known |= 1u << return_register;
        }
        return Stop::too_deep;
    }

  private:
    using Outcome = std::optional<Stop>;  // nothing: the walk goes on

    void add_step(Known* known) {
        StackTable& table = space_.library().stacks();
        const bool usual = known && !exact_ && quality_ == Quality::cfi;
        uint32_t frame = usual ? known->frame : no_id;
        if (frame == no_id) {
            Frame made;
            made.address = where_ ? pc_ - where_->bias : pc_;
            made.module = where_ ? where_->object : space_.library().anonymous(space_.pid());
            made.quality = quality_;
            made.exact = exact_;
            frame = table.frame(made);
            if (usual) known->frame = frame;
        }
        walk_.steps.push_back({pc_, now_.value[stack_register], where_, frame, quality_, exact_});
        if (options_.keep_registers) walk_.registers.push_back(now_);
    }

    void weaken(Quality to) { quality_ = std::max(quality_, to); }

    Outcome step_by_table(const CompactRow& row, uint64_t inside) {
        if (!find_cfa(row, inside)) return Stop::lost;
        next_.known &= row.kept;
        next_.set(stack_register, cfa_);
        bool returns = false;
        for (uint8_t i = 0; i < row.count; ++i) {
            const CompactRow::Saved& saved = row.saved[i];
            if (saved.number == return_register) {
                if (saved.rule == Rule::undefined) return Stop::end;
                returns = true;
            }
            if (const Outcome stop = restore(saved)) return stop;
        }
        if (!returns) return Stop::no_table;  // a table that does not say where it returns to
        after_signal_ = row.signal;
        return std::nullopt;
    }

    bool find_cfa(const CompactRow& row, uint64_t inside) {
        if (row.cfa_register == cfa_by_expression) {
            const auto value = expression(row.cfa_value, std::nullopt);
            cfa_ = value.value_or(0);
            return value.has_value();
        }
        if (!now_.knows(row.cfa_register) &&
            !(options_.guesses && row.cfa_register == frame_register && find_frame(inside)))
            return false;
        cfa_ = now_.value[row.cfa_register] + row.cfa_value;
        return true;
    }

    Outcome restore(const CompactRow::Saved& saved) {
        const size_t number = saved.number;
        const bool returns = number == return_register;
        uint64_t word;
        switch (saved.rule) {
            case Rule::at_offset: {
                const uint64_t address = cfa_ + saved.offset();
                if (memory_.stacked(address, word)) {
                    next_.set(number, word);
                } else if (returns) {
                    return address >= memory_.end() ? Stop::truncated : Stop::bad_address;
                } else if (!(address < memory_.start() && address + frame_reach > memory_.start())) {
                    next_.forget(number);
                }  // else it has been taken from the stack already, and has its value again
                return std::nullopt;
            }
            case Rule::is_offset: next_.set(number, cfa_ + saved.offset()); return std::nullopt;
            case Rule::in_register:
                if (now_.knows(saved.place())) {
                    next_.set(number, now_.value[saved.place()]);
                    return std::nullopt;
                }
                break;
            case Rule::at_expression:
            case Rule::is_expression: {
                auto value = expression(saved.place(), cfa_);
                const bool points = saved.rule == Rule::at_expression;
                if (value && points && returns && *value >= memory_.end()) return Stop::truncated;
                if (value && points) value = memory_.word(*value);
                if (value) {
                    next_.set(number, *value);
                    return std::nullopt;
                }
                break;
            }
            case Rule::same:
            case Rule::undefined: break;
        }
        next_.forget(number);
        if (returns) return Stop::lost;
        return std::nullopt;
    }

    std::optional<uint64_t> expression(uint64_t place, std::optional<uint64_t> given) const {
        return evaluate(where_->module->image().bytes(), place, now_, memory_, given);
    }

    // Of a thread that waits in the kernel only SP and PC are known. Where the CFA hangs on rbp,
    // looks for the pair that `push rbp; mov rbp, rsp` left: a return address to a caller of this
    // function.
    bool find_frame(uint64_t inside) {
        const uint64_t start = where_->module->function(inside - where_->bias);
        if (start == Module::no_address) return false;
        uint64_t word;
        for (uint64_t at = now_.value[stack_register]; memory_.stacked(at + 8, word); at += 8) {
            if (word < lowest_code) continue;
            const Call call = call_before(space_, word, start + where_->bias);
            if (call != Call::direct && call != Call::indirect) continue;
            now_.set(frame_register, at);
            next_ = now_;
            weaken(call == Call::direct ? Quality::frame_pointer : Quality::scan);
            return true;
        }
        return false;
    }

    Outcome step_without_table() {
        if (!options_.guesses) return Stop::no_table;
        if (depth_ == 0 && step_from_plt()) return std::nullopt;
        if (step_by_frame_pointer()) return std::nullopt;
        if (ends_chain()) return Stop::end;
        if (leaves_copy()) return Stop::truncated;
        if (step_by_scan() || (scanned_ && find_pair() && step_by_frame_pointer()))
            return std::nullopt;
        return Stop::no_table;
    }

    // A stub that jumps on: nothing has been pushed. Only static programs lack its table.
    bool step_from_plt() {
        uint64_t word;
        const uint64_t sp = now_.value[stack_register];
        if (!is_plt(space_.code(pc_, 8)) || !memory_.stacked(sp, word)) return false;
        if (call_before(space_, word, 0) == Call::none) return false;
        next_.set(return_register, word);
        next_.set(stack_register, sp + 8);
        cfa_ = sp + 8;
        weaken(Quality::frame_pointer);
        return true;
    }

    bool step_by_frame_pointer() {
        if (!now_.knows(frame_register)) return false;
        const uint64_t frame = now_.value[frame_register];
        uint64_t caller, saved;
        if (frame < now_.value[stack_register] || !memory_.stacked(frame + 8, caller) ||
            !memory_.stacked(frame, saved) || caller < lowest_code)
            return false;
        // Go's outermost function saves zero, and does not follow a call.
        if (call_before(space_, caller, 0) == Call::none && !(saved == 0 && space_.find(caller)))
            return false;
        cfa_ = frame + 16;
        next_.known = 0;
        next_.set(return_register, caller);
        next_.set(frame_register, saved);
        next_.set(stack_register, cfa_);
        weaken(Quality::frame_pointer);
        return true;
    }

    bool ends_chain() const {
        if (depth_ == 0 || !now_.knows(frame_register)) return false;
        const uint64_t frame = now_.value[frame_register];
        uint64_t caller;
        return frame == 0 || (frame >= now_.value[stack_register] &&
                              memory_.stacked(frame + 8, caller) && caller == 0);
    }

    // Go's scheduler runs on a stack of its own; that of the goroutine is not in the copy.
    bool leaves_copy() const {
        if (!where_ || !where_->module || !where_->module->is_go()) return false;
        const uint64_t frame = now_.value[frame_register];
        return now_.knows(frame_register) &&
               (frame < memory_.start() || frame + 16 > memory_.end());
    }

    // Functions of Go keep frame pointers, but of a waiting thread nobody told the first: the nearest
    // word that points to a saved frame pointer, where both have a return address above them.
    bool find_pair() {
        if (!where_ || !where_->module || !where_->module->is_go()) return false;
        if (now_.knows(frame_register)) return false;
        const uint64_t sp = now_.value[stack_register];
        uint64_t frame, caller, outer;
        for (uint64_t at = sp; at - sp < scan_room && memory_.stacked(at + 8, caller); at += 8) {
            if (caller < lowest_code || !memory_.stacked(at, frame) || frame <= at) continue;
            if (!memory_.stacked(frame + 8, outer)) continue;
            if (call_before(space_, caller, 0) == Call::none) continue;
            if (outer != 0 && call_before(space_, outer, 0) == Call::none) continue;
            now_.set(frame_register, at);
            next_ = now_;
            return true;
        }
        return false;
    }

    // At most once a walk: a second guess would build on the first.
    bool step_by_scan() {
        if (scanned_) return false;
        uint64_t word;
        const uint64_t sp = now_.value[stack_register];
        for (uint64_t at = sp; at - sp < scan_room && memory_.stacked(at, word); at += 8) {
            if (word < lowest_code) continue;
            const Call call = call_before(space_, word, 0);
            const bool made_code = where_ && !where_->module;
            if (call == Call::none || (call == Call::unreadable && !made_code)) continue;
            scanned_ = true;
            cfa_ = at + 8;
            next_.known = 0;
            next_.set(return_register, word);
            next_.set(stack_register, cfa_);
            uint64_t saved;  // the word below may be the caller's frame pointer
            if (at > sp && memory_.stacked(at - 8, saved) && saved > at && saved < memory_.end())
                next_.set(frame_register, saved);
            weaken(Quality::scan);
            return true;
        }
        return false;
    }

    const Space& space_;
    StackMemory memory_;
    Registers now_, next_;
    WalkOptions options_;
    Walk& walk_;
    const Mapping* where_ = nullptr;
    uint64_t pc_ = 0, cfa_ = 0;
    size_t depth_ = 0;
    Quality quality_ = Quality::cfi;
    bool exact_ = true, after_signal_ = false, scanned_ = false;
};

}  // namespace

Call call_before(const Space& space, uint64_t address, uint64_t function) {
    constexpr uint64_t longest = 8;
    const Mapping* mapping = space.find(address - 1);
    if (!mapping) return Call::none;
    if (!mapping->module) return Call::unreadable;
    const Bytes code = space.code(address - longest, longest);
    if (code.empty()) return Call::none;
    const uint8_t* end = code.data() + longest;
    if (end[-5] == 0xe8) {
        int32_t distance;
        std::memcpy(&distance, end - 4, sizeof distance);
        const uint64_t target = address + static_cast<uint64_t>(int64_t{distance});
        if (function == 0 || target == function) return Call::direct;
        if (is_plt(space.code(target, 8))) return Call::indirect;
    }
    return is_indirect_call(end) ? Call::indirect : Call::none;
}

void walk_stack(const Space& space, const StackCopy& stack, const Registers& registers,
                WalkOptions options, Walk& walk) {
    walk.steps.clear();
    walk.registers.clear();
    walk.stop = Walker(space, stack, registers, options, walk).run();
}

}  // namespace gnomon::frames
