// Names of Rust functions, as RFC 2603 lays them down ("v0").
#include <cstdint>

#include "frames/symbols.hh"
#include "frames/text.hh"

namespace gnomon::frames {

namespace {

constexpr int deepest = 200;
constexpr int most_parts = 20000;  // references back can make a short symbol very long

const char* basic_type(char code) {
    switch (code) {
        case 'a': return "i8";
        case 'b': return "bool";
        case 'c': return "char";
        case 'd': return "f64";
        case 'e': return "str";
        case 'f': return "f32";
        case 'h': return "u8";
        case 'i': return "isize";
        case 'j': return "usize";
        case 'l': return "i32";
        case 'm': return "u32";
        case 'n': return "i128";
        case 'o': return "u128";
        case 'p': return "_";
        case 's': return "i16";
        case 't': return "u16";
        case 'u': return "()";
        case 'v': return "...";
        case 'x': return "i64";
        case 'y': return "u64";
        case 'z': return "!";
        default: return nullptr;
    }
}

class Demangler {
  public:
    Demangler(std::string_view symbol, size_t longest) : text_(symbol), longest_(longest) {}

    std::string run() {
        if (!text_.starts_with("_R")) return {};
        text_.remove_prefix(2);
        // What follows a dot or a dollar sign was added by the compiler's back end.
        text_ = text_.substr(0, text_.find_first_of(".$"));
        if (peek() >= '0' && peek() <= '9') return {};  // a later version of the scheme
        path(true);
        if (good_ && at_ < text_.size() && !full_) {  // where generic code was made: not shown
            const size_t kept = out_.size();
            path(true);
            out_.resize(kept);
        }
        return good_ || full_ ? out_ : std::string();
    }

  private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    char next() {
        if (at_ >= text_.size()) {
            good_ = false;
            return '\0';
        }
        return text_[at_++];
    }
    bool take(char wanted) {
        if (peek() != wanted || at_ >= text_.size()) return false;
        ++at_;
        return true;
    }
    bool goes_on() const { return good_ && !full_; }

    void print(std::string_view text) {
        if (!goes_on()) return;
        out_ += text;
        if (out_.size() > longest_) full_ = true;
    }

    uint64_t base62() {
        if (take('_')) return 0;
        uint64_t value = 0;
        for (int digits = 0; good_; ++digits) {
            const char code = next();
            if (code == '_') return value + 1;
            uint64_t digit = 0;
            if (code >= '0' && code <= '9') digit = static_cast<uint64_t>(code - '0');
            else if (code >= 'a' && code <= 'z') digit = static_cast<uint64_t>(code - 'a') + 10;
            else if (code >= 'A' && code <= 'Z') digit = static_cast<uint64_t>(code - 'A') + 36;
            else good_ = false;
            if (digits > 20) good_ = false;  // a hash may wrap, and is not shown
            value = value * 62 + digit;
        }
        return 0;
    }
    uint64_t optional_base62(char tag) { return take(tag) ? base62() + 1 : 0; }

    struct Identifier {
        uint64_t number = 0;  // which of several of this name
        std::string name;
    };
    Identifier identifier(bool numbered = true) {
        Identifier found;
        if (numbered) found.number = optional_base62('s');
        const bool puny = take('u');
        uint64_t length = 0;
        if (peek() < '0' || peek() > '9') good_ = false;
        if (!take('0'))
            while (peek() >= '0' && peek() <= '9' && length < 100000)
                length = length * 10 + static_cast<uint64_t>(next() - '0');
        take('_');
        if (length > text_.size() - at_) good_ = false;
        if (!good_) return found;
        const std::string_view name = text_.substr(at_, length);
        at_ += length;
        if (!puny)
            found.name = name;
        else if (!decode_punycode(name, found.name))
            found.name.assign("punycode{").append(name).append("}");
        return found;
    }

    // Parses what an earlier place says; `what` is called there.
    template <typename What>
    void back(What what) {
        const size_t here = at_ - 1;  // of the letter B
        const uint64_t target = base62();
        if (target >= here) good_ = false;
        if (!goes_on()) return;
        const size_t kept = at_;
        at_ = target;
        what();
        at_ = kept;
    }

    bool enter() {
        if (++depth_ > deepest || ++parts_ > most_parts) good_ = false;
        return goes_on();
    }

    void path(bool is_value) {
        if (enter()) {
            const char tag = next();
            switch (tag) {
                case 'C': print(identifier().name); break;
                case 'N': nested(is_value); break;
                case 'M':
                case 'X': implementation(tag == 'X'); break;
                case 'Y':
                    print("<");
                    type();
                    print(" as ");
                    path(false);
                    print(">");
                    break;
                case 'I':
                    path(is_value);
                    if (is_value) print("::");
                    print("<");
                    list([&] { generic(); });
                    print(">");
                    break;
                case 'B': back([&] { path(is_value); }); break;
                default: good_ = false;
            }
        }
        --depth_;
    }

    void nested(bool is_value) {
        const char space = next();
        if (!((space >= 'a' && space <= 'z') || (space >= 'A' && space <= 'Z'))) good_ = false;
        path(is_value);
        const Identifier found = identifier();
        if (space >= 'a') {
            if (found.name.empty()) return;
            print("::");
            return print(found.name);
        }
        print("::{");
        print(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
        if (!found.name.empty()) print(":");
        print(found.name);
        print("#");
        print(std::to_string(found.number));
        print("}");
    }

    // The path of an implementation is where it was written, which the type says better.
    void implementation(bool of_trait) {
        optional_base62('s');
        const size_t kept = out_.size();
        path(false);
        if (!full_) out_.resize(kept);
        print("<");
        type();
        if (of_trait) {
            print(" as ");
            path(false);
        }
        print(">");
    }

    template <typename What>
    size_t list(What what, const char* between = ", ") {
        size_t count = 0;
        while (goes_on() && !take('E')) {
            if (count++) print(between);
            what();
        }
        return count;
    }

    void generic() {
        if (take('L')) lifetime(base62());
        else if (take('K')) constant();
        else type();
    }

    void lifetime(uint64_t number) {
        if (number == 0) return print("'_");
        if (number > bound_) {
            good_ = false;
            return;
        }
        const uint64_t place = bound_ - number;
        const auto letter = static_cast<char>('a' + place % 26);
        print("'");
        if (place < 26) return print({&letter, 1});
        print("_");
        print(std::to_string(place));
    }

    template <typename What>
    void binder(What what) {
        const uint64_t count = optional_base62('G');
        if (count > 1000) good_ = false;
        if (!goes_on()) return;
        const uint64_t outer = bound_;
        if (count) {
            print("for<");
            for (uint64_t i = 0; i < count; ++i) {
                if (i) print(", ");
                ++bound_;
                lifetime(1);
            }
            print("> ");
        }
        what();
        bound_ = outer;
    }

    void type() {
        if (enter()) {
            const char tag = next();
            if (const char* basic = basic_type(tag)) print(basic);
            else compound(tag);
        }
        --depth_;
    }

    void compound(char tag) {
        switch (tag) {
            case 'R':
            case 'Q':
                print("&");
                if (take('L'))
                    if (const uint64_t number = base62()) {
                        lifetime(number);
                        print(" ");
                    }
                if (tag == 'Q') print("mut ");
                return type();
            case 'P': print("*const "); return type();
            case 'O': print("*mut "); return type();
            case 'A':
            case 'S':
                print("[");
                type();
                if (tag == 'A') {
                    print("; ");
                    constant();
                }
                return print("]");
            case 'T':
                print("(");
                if (list([&] { type(); }) == 1) print(",");
                return print(")");
            case 'F': return binder([&] { signature(); });
            case 'D':
                print("dyn ");
                binder([&] { list([&] { bound_trait(); }, " + "); });
                if (!take('L')) good_ = false;
                else if (const uint64_t number = base62()) {
                    print(" + ");
                    lifetime(number);
                }
                return;
            case 'B': return back([&] { type(); });
            default: --at_; return path(false);
        }
    }

    void signature() {
        if (take('U')) print("unsafe ");
        if (take('K')) {
            std::string abi = take('C') ? "C" : identifier(false).name;
            for (char& each : abi)
                if (each == '_') each = '-';
            print("extern \"");
            print(abi);
            print("\" ");
        }
        print("fn(");
        list([&] { type(); });
        print(")");
        if (take('u')) return;  // returns nothing
        print(" -> ");
        type();
    }

    // A trait, with what is said of its types inside the same angle brackets.
    void bound_trait() {
        path(false);
        bool open = false;
        if (peek() == 'p' && !out_.empty() && out_.back() == '>') {
            out_.pop_back();
            open = true;
        }
        while (goes_on() && take('p')) {
            print(open ? ", " : "<");
            open = true;
            print(identifier(false).name);
            print(" = ");
            type();
        }
        if (open) print(">");
    }

    void constant() {
        if (!enter()) {
            --depth_;
            return;
        }
        if (take('p')) {
            print("_");
        } else if (take('B')) {
            back([&] { constant(); });
        } else {
            const char kind = next();
            if (!basic_type(kind)) good_ = false;
            const bool negative = take('n');
            const size_t start = at_;
            while ((peek() >= '0' && peek() <= '9') || (peek() >= 'a' && peek() <= 'f')) ++at_;
            const std::string_view digits = text_.substr(start, at_ - start);
            if (!take('_')) good_ = false;
            if (goes_on()) value(kind, negative, digits);
        }
        --depth_;
    }

    void value(char kind, bool negative, std::string_view digits) {
        if (digits.size() > 16) {
            print(negative ? "-0x" : "0x");
            return print(digits);
        }
        uint64_t number = 0;
        for (char each : digits)
            number = number << 4 | static_cast<uint64_t>(each <= '9' ? each - '0' : each - 'a' + 10);
        if (kind == 'b') return print(number ? "true" : "false");
        if (kind == 'c' && number >= 0x20 && number <= 0x10ffff) {
            std::string letter = "'";
            if (number == '\'' || number == '\\') letter += '\\';
            append_utf8(letter, static_cast<uint32_t>(number));
            letter += '\'';
            return print(letter);
        }
        if (negative) print("-");
        print(std::to_string(number));
    }

    std::string_view text_;
    size_t longest_;
    size_t at_ = 0;
    std::string out_;
    uint64_t bound_ = 0;
    int depth_ = 0, parts_ = 0;
    bool good_ = true, full_ = false;
};

}  // namespace

std::string demangle_rust(std::string_view symbol, size_t longest) {
    return Demangler(symbol, longest).run();
}

}  // namespace gnomon::frames
