// Finds the unwind table of an address in a file's .eh_frame.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frames/image.hh"
#include "frames/row.hh"

namespace gnomon::frames {

class CallFrames {
  public:
    // The image is to live at least as long.
    explicit CallFrames(const Image& image);

    // What covers an address; nothing where no table does.
    std::optional<FrameProgram> find(uint64_t address) const;
    Row row(uint64_t address) const;
    // Starts of all functions that have a table, ascending.
    std::vector<uint64_t> starts() const;
    bool empty() const { return table_.empty() && index_.empty(); }

  private:
    struct Entry {
        uint64_t start, place;  // of the function, and of its entry in .eh_frame
        bool operator<(const Entry& other) const { return start < other.start; }
    };
    void read_header();
    void build_index();
    uint64_t entry_for(uint64_t address) const;
    std::optional<FrameProgram> parse(Bytes rest, uint64_t place) const;
    bool parse_common(Cursor cursor, FrameProgram& program, bool& augmented) const;

    const Image& image_;
    Bytes table_;                 // pairs of 32-bit distances from table_base_, sorted by the linker
    uint64_t table_base_ = 0;
    std::vector<Entry> index_;    // where there is no such table
};

}  // namespace gnomon::frames
