// A file that is mapped into programs, with what is known of its addresses.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frames/call_frames.hh"

namespace gnomon::frames {

constexpr uint32_t no_id = 0xffffffff;

// What a walk needs of an address, kept from the first time it is asked for.
struct Known {
    uint64_t address = ~uint64_t{0};
    uint32_t row = 0;        // in Module::row
    uint32_t frame = no_id;  // the frame of this address, once it has been interned
};

// A row with the registers that it says something of, small, so that many stay in the caches.
struct CompactRow {
    bool valid = false, signal = false;
    uint8_t cfa_register = 0, count = 0;
    uint32_t kept = 0;  // registers that stay as they are, a bit each
    uint64_t cfa_value = 0;
    struct Saved {
        uint8_t number;
        Rule rule;
        uint32_t word;
        uint64_t offset() const {
            return static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)});
        }
        uint64_t place() const { return word; }  // of an expression
    };
    std::array<Saved, register_count> saved{};
};

class Module {
  public:
    Module(uint32_t id, std::string path, std::shared_ptr<const Image> image);

    uint32_t id() const { return id_; }
    const std::string& path() const { return path_; }
    const Image& image() const { return *image_; }
    const std::shared_ptr<const Image>& shared_image() const { return image_; }
    const CallFrames& call_frames() const { return call_frames_; }
    // Go's compiler keeps frame pointers everywhere, and writes no unwind tables.
    bool is_go() const { return is_go_; }

    // Valid until the next call.
    Known& at(uint64_t address);
    const CompactRow& row(uint32_t number) const { return rows_[number]; }
    // Where the function of an address begins, by its unwind table; no_address without one.
    uint64_t function(uint64_t address) const;
    static constexpr uint64_t no_address = ~uint64_t{0};
    size_t memory() const;

  private:
    uint32_t intern(const Row& row);
    void grow();

    uint32_t id_;
    std::string path_;
    std::shared_ptr<const Image> image_;
    CallFrames call_frames_;
    std::vector<Known> known_;  // a hash table of a power of two places
    size_t used_ = 0;
    bool is_go_;
    std::vector<CompactRow> rows_;
    std::unordered_multimap<uint64_t, uint32_t> row_ids_;  // by hash
    std::vector<Row> full_rows_;
};

}  // namespace gnomon::frames
