// Two kernels after BYTEmark: the assignment problem, and sorting strings by moving them.
#include <algorithm>
#include <cstring>

#include "workload/feed.hh"

namespace gnomon::workload {

namespace {

struct Assignment {
    uint64_t side, iterations, seed, base, private_stride;
};

// The Hungarian method on a square of costs: rows and columns are searched for zeros.
class Tableau {
  public:
    enum { copy = 1, reduce_rows, reduce_columns, first_stars, cover, find, adjust, augment };

    Tableau(Out& out, uint64_t side, uint64_t base)
        : out_(out), side_(side), costs_(side * side), at_costs_(base + 4 * side * side),
          source_(base), marks_(base + 8 * side * side), values_(side * side) {}

    void draw(Random random) {
        for (int32_t& cost : costs_) cost = static_cast<int32_t>(random.below(5'000'000));
    }
    void begin() {
        values_ = costs_;
        star_of_row_.assign(side_, none);
        star_of_column_.assign(side_, none);
        prime_of_row_.assign(side_, none);
        row_covered_.assign(side_, 0);
        column_covered_.assign(side_, 0);
    }

    void copy_row(uint64_t row) {
        for (uint64_t column = 0; column < side_; ++column) {
            out_.load(source_ + 4 * (row * side_ + column), 4, copy);
            out_.store(at(row, column), 4, copy);
            out_.turn(column + 1 < side_, copy);
        }
    }

    // Takes the least element of a row or column from all of it.
    void reduce(uint64_t line, bool row) {
        const uint32_t site = row ? reduce_rows : reduce_columns;
        int32_t least = value(line, 0, row);
        out_.load(place(line, 0, row), 4, site);
        for (uint64_t i = 1; i < side_; ++i) {
            out_.load(place(line, i, row), 4, site, waits);
            out_.branch(value(line, i, row) < least, site);
            least = std::min(least, value(line, i, row));
            out_.turn(i + 1 < side_, site);
        }
        for (uint64_t i = 0; i < side_; ++i) {
            value(line, i, row) -= least;
            out_.load(place(line, i, row), 4, site);
            out_.count(Code::integer, 1, site);
            out_.store(place(line, i, row), 4, site);
            out_.turn(i + 1 < side_, site);
        }
    }

    // Stars the first zero of a row whose column has no star yet.
    void star_row(uint64_t row) {
        for (uint64_t column = 0; column < side_; ++column) {
            const bool zero = value(row, column, true) == 0;
            out_.load(at(row, column), 4, first_stars, waits);
            out_.branch(zero, first_stars);
            bool starred = false;
            if (zero) {
                starred = star_of_column_[column] == none;
                out_.load(column_mark(column), 4, first_stars, waits);
                out_.branch(starred, first_stars);
            }
            if (starred) {
                star(row, column, first_stars);
                return;
            }
            out_.turn(column + 1 < side_, first_stars);
        }
    }

    // Covers columns with a star; true when all have one.
    bool cover_columns() {
        uint64_t covered = 0;
        for (uint64_t column = 0; column < side_; ++column) {
            const bool starred = star_of_column_[column] != none;
            out_.load(column_mark(column), 4, cover, waits);
            out_.branch(starred, cover);
            column_covered_[column] = starred;
            row_covered_[column] = 0;
            prime_of_row_[column] = none;
            out_.store(column_cover(column), 1, cover);
            out_.store(row_cover(column), 1, cover);
            covered += starred;
            out_.turn(column + 1 < side_, cover, 2);
        }
        return covered == side_;
    }

    // Looks for a zero that nothing covers in a row; the least value seen is kept.
    bool search_row(uint64_t row) {
        out_.load(row_cover(row), 1, find, waits);
        out_.branch(!row_covered_[row], find);
        if (row_covered_[row]) return false;
        for (uint64_t column = 0; column < side_; ++column) {
            out_.load(column_cover(column), 1, find, waits);
            out_.branch(!column_covered_[column], find);
            if (!column_covered_[column]) {
                const int32_t cost = value(row, column, true);
                out_.load(at(row, column), 4, find, waits);
                out_.branch(cost < least_, find);
                least_ = std::min(least_, cost);
                if (cost == 0) {
                    found_row_ = row;
                    found_column_ = column;
                    return true;
                }
            }
            out_.turn(column + 1 < side_, find);
        }
        return false;
    }
    void begin_search() { least_ = most; }

    // Makes a new zero: less where nothing covers, more where both do.
    void adjust_row(uint64_t row) {
        out_.load(row_cover(row), 1, adjust, waits);
        for (uint64_t column = 0; column < side_; ++column) {
            const int change = row_covered_[row] + column_covered_[column] - 1;
            out_.load(column_cover(column), 1, adjust, waits);
            out_.branch(change != 0, adjust);
            if (change != 0) {
                value(row, column, true) += change * least_;
                out_.load(at(row, column), 4, adjust);
                out_.count(Code::integer, 1, adjust);
                out_.store(at(row, column), 4, adjust);
            }
            out_.turn(column + 1 < side_, adjust);
        }
    }

    // Primes the zero that was found; true when its row had no star and a path was augmented.
    bool use_zero() {
        prime_of_row_[found_row_] = found_column_;
        out_.store(prime_mark(found_row_), 4, augment);
        out_.load(row_mark(found_row_), 4, augment, waits);
        const uint64_t starred = star_of_row_[found_row_];
        out_.branch(starred != none, augment);
        if (starred != none) {
            row_covered_[found_row_] = 1;
            column_covered_[starred] = 0;
            out_.store(row_cover(found_row_), 1, augment);
            out_.store(column_cover(starred), 1, augment);
            return false;
        }
        uint64_t row = found_row_, column = found_column_;
        for (;;) {
            const uint64_t next = star_of_column_[column];
            out_.load(column_mark(column), 4, augment, waits);
            star(row, column, augment);
            out_.branch(next != none, augment);
            if (next == none) return true;
            row = next;
            column = prime_of_row_[row];
            out_.load(prime_mark(row), 4, augment, waits);
        }
    }

  private:
    static constexpr uint64_t none = ~uint64_t{0};
    static constexpr int32_t most = INT32_MAX;

    void star(uint64_t row, uint64_t column, uint32_t site) {
        star_of_row_[row] = column;
        star_of_column_[column] = row;
        out_.store(row_mark(row), 4, site);
        out_.store(column_mark(column), 4, site);
    }
    int32_t& value(uint64_t line, uint64_t i, bool row) {
        return values_[row ? line * side_ + i : i * side_ + line];
    }
    uint64_t place(uint64_t line, uint64_t i, bool row) const {
        return row ? at(line, i) : at(i, line);
    }
    uint64_t at(uint64_t row, uint64_t column) const {
        return at_costs_ + 4 * (row * side_ + column);
    }
    uint64_t row_mark(uint64_t row) const { return marks_ + 4 * row; }
    uint64_t column_mark(uint64_t column) const { return marks_ + 4 * (side_ + column); }
    uint64_t prime_mark(uint64_t row) const { return marks_ + 4 * (2 * side_ + row); }
    uint64_t row_cover(uint64_t row) const { return marks_ + 12 * side_ + row; }
    uint64_t column_cover(uint64_t column) const { return marks_ + 13 * side_ + column; }

    Out& out_;
    uint64_t side_;
    std::vector<int32_t> costs_;
    uint64_t at_costs_, source_, marks_;
    std::vector<int32_t> values_;
    std::vector<uint64_t> star_of_row_, star_of_column_, prime_of_row_;
    std::vector<uint8_t> row_covered_, column_covered_;
    int32_t least_ = most;
    uint64_t found_row_ = 0, found_column_ = 0;
};

Steps assignment_thread(Out& out, uint32_t thread, Assignment p) {
    Tableau tableau(out, p.side, p.base + thread * p.private_stride);
    tableau.draw(Random(p.seed, thread));
    for (uint64_t round = 0; round < p.iterations; ++round) {
        tableau.begin();
        for (uint64_t row = 0; row < p.side; ++row) {
            tableau.copy_row(row);
            tableau.reduce(row, true);
            co_await out.pause();
        }
        for (uint64_t column = 0; column < p.side; ++column) {
            tableau.reduce(column, false);
            co_await out.pause();
        }
        for (uint64_t row = 0; row < p.side; ++row) {
            tableau.star_row(row);
            co_await out.pause();
        }
        while (!tableau.cover_columns()) {
            for (bool augmented = false; !augmented;) {
                bool found = false;
                tableau.begin_search();
                for (uint64_t row = 0; row < p.side && !found; ++row) {
                    found = tableau.search_row(row);
                    co_await out.pause();
                }
                if (found) {
                    augmented = tableau.use_zero();
                    continue;
                }
                for (uint64_t row = 0; row < p.side; ++row) {
                    tableau.adjust_row(row);
                    co_await out.pause();
                }
            }
        }
    }
}

struct StringSort {
    uint64_t bytes, iterations, seed, base, private_stride;
};

constexpr uint64_t shortest = 4, longest = 80;

// Strings with a length byte, one behind the other. To exchange two of unlike length, all that
// follows is moved.
class Strings {
  public:
    enum { compare = 1, save, move, adjust, write };

    Strings(Out& out, uint64_t bytes, uint64_t base)
        : out_(out), bytes_(bytes), area_(bytes + longest), at_area_(base),
          at_offsets_(base + (bytes + longest + 63) / 64 * 64),
          at_saved_(at_offsets_ + 4 * (bytes / (shortest + 1) + 1)) {}

    void draw(Random random) {
        offsets_.clear();
        uint64_t at = 0;
        while (bytes_ - at >= shortest + 1) {
            const uint64_t length =
                std::min(shortest + random.below(longest - shortest + 1), bytes_ - at - 1);
            offsets_.push_back(static_cast<uint32_t>(at));
            area_[at] = static_cast<uint8_t>(length);
            for (uint64_t i = 1; i <= length; ++i)
                area_[at + i] = static_cast<uint8_t>(1 + random.below(254));
            at += length + 1;
        }
        end_ = at;
    }
    uint64_t count() const { return offsets_.size(); }

    bool less(uint64_t a, uint64_t b) {
        out_.load(at_offsets_ + 4 * a, 4, compare, waits);
        out_.load(at_offsets_ + 4 * b, 4, compare, waits);
        const uint32_t first = offsets_[a], second = offsets_[b];
        out_.load(at_area_ + first, 1, compare);
        out_.load(at_area_ + second, 1, compare, waits);
        const uint8_t common = std::min(area_[first], area_[second]);
        for (uint32_t i = 1; i <= common; ++i) {
            out_.load(at_area_ + first + i, 1, compare);
            out_.load(at_area_ + second + i, 1, compare, waits);
            const bool same = area_[first + i] == area_[second + i];
            out_.turn(same, compare, 2);
            if (!same) return area_[first + i] < area_[second + i];
        }
        return area_[first] < area_[second];
    }

    void exchange(uint64_t a, uint64_t b) {  // a before b
        const std::vector<uint8_t> first = save_string(a, 0);
        const std::vector<uint8_t> second = save_string(b, longest + 1);
        replace(a, second, longest + 1);
        replace(b, first, 0);
    }

  private:
    std::vector<uint8_t> save_string(uint64_t which, uint64_t slot) {
        const uint32_t from = offsets_[which];
        out_.load(at_offsets_ + 4 * which, 4, save, waits);
        const uint64_t size = area_[from] + uint64_t{1};
        copy(at_saved_ + slot, at_area_ + from, size, save);
        return {area_.begin() + from, area_.begin() + from + size};
    }

    // Makes room of the right size, and writes a saved string there.
    void replace(uint64_t which, const std::vector<uint8_t>& text, uint64_t slot) {
        const uint32_t at = offsets_[which];
        out_.load(at_area_ + at, 1, adjust, waits);
        const uint64_t old = area_[at] + uint64_t{1};
        out_.branch(old != text.size(), adjust);
        if (old != text.size()) {
            const uint64_t from = at + old, to = at + text.size(), size = end_ - from;
            copy(at_area_ + to, at_area_ + from, size, move);
            // The first half of an exchange may pass the end, which the area has room for.
            std::memmove(area_.data() + to, area_.data() + from, size);
            end_ = to + size;
            for (uint64_t i = which + 1; i < offsets_.size(); ++i) {
                offsets_[i] = static_cast<uint32_t>(offsets_[i] + to - from);
                out_.load(at_offsets_ + 4 * i, 4, adjust);
                out_.count(Code::integer, 1, adjust);
                out_.store(at_offsets_ + 4 * i, 4, adjust);
                out_.turn(i + 1 < offsets_.size(), adjust);
            }
        }
        copy(at_area_ + at, at_saved_ + slot, text.size(), write);
        std::copy(text.begin(), text.end(), area_.begin() + at);
    }

    // As memmove does it: words, then the bytes that are left, from the end if that is needed.
    void copy(uint64_t to, uint64_t from, uint64_t size, uint32_t site) {
        const uint64_t words = size / 8, pieces = words + size % 8;
        for (uint64_t i = 0; i < pieces; ++i) {
            const uint64_t piece = to > from ? pieces - 1 - i : i;
            const bool word = piece < words;
            const uint64_t offset = word ? 8 * piece : 8 * words + piece - words;
            out_.load(from + offset, word ? 8 : 1, site);
            out_.store(to + offset, word ? 8 : 1, site);
            out_.turn(i + 1 < pieces, site);
        }
    }

    Out& out_;
    uint64_t bytes_;
    std::vector<uint8_t> area_;
    uint64_t at_area_, at_offsets_, at_saved_;
    std::vector<uint32_t> offsets_;
    uint64_t end_ = 0;
};

Steps sift(Out& out, Strings& strings, uint64_t root, uint64_t count) {
    for (uint64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count) {
            const bool right = strings.less(child, child + 1);
            out.branch(right, Strings::compare);
            child += right;
        }
        const bool below = strings.less(root, child);
        out.branch(below, Strings::compare);
        if (!below) co_return;
        strings.exchange(root, child);
        co_await out.pause();
    }
}

Steps string_sort_thread(Out& out, uint32_t thread, StringSort p) {
    Strings strings(out, p.bytes, p.base + thread * p.private_stride);
    for (uint64_t round = 0; round < p.iterations; ++round) {
        strings.draw(Random(p.seed, thread));
        for (uint64_t i = strings.count() / 2; i-- > 0;)
            co_await out.call(sift(out, strings, i, strings.count()));
        for (uint64_t i = strings.count(); i-- > 1;) {
            strings.exchange(0, i);
            co_await out.call(sift(out, strings, 0, i));
        }
    }
}

}  // namespace

Feeds assignment(const Settings& s) {
    return feeds_of(s.threads(), assignment_thread,
                    Assignment{s["size"], s["iterations"], s["seed"], s.bases[0],
                               s["private_stride"]});
}

Feeds string_sort(const Settings& s) {
    return feeds_of(s.threads(), string_sort_thread,
                    StringSort{s["size"], s["iterations"], s["seed"], s.bases[0],
                               s["private_stride"]});
}

}  // namespace gnomon::workload
