// A segment of a trace: one mapped file, one contiguous array per column, rows only appended, in
// order of time. The header's `rows` is the commit point: written last, read first. Payloads are in
// a second file; a column holds where each ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gnomon::traces {

constexpr uint32_t kBlock = 4096;       // rows of an entry of the index
constexpr uint64_t kCapacity = 1 << 20; // the most rows of a segment
constexpr uint32_t kPart = 512;         // rows of a part of a block, whose classes are counted
constexpr int kParts = kBlock / kPart;
constexpr int kClasses = 4;             // what an overview tells apart
constexpr int kFixed = 9;               // time lc type flags src dst tx addr dt come first
constexpr int kColumns = 48;
constexpr size_t kPage = 4096;

struct Column {
    char name[24];
    char type[4];  // i8, u1, u2, u4, u8; `data` for ends of payloads
    uint32_t spare;
};

struct Synced {  // what a sync has put on the disk of a block that was not full
    uint64_t rows, check;
};

struct Header {
    char magic[8];
    uint32_t version, columns;
    uint64_t capacity, first;
    std::atomic<uint64_t> rows;
    uint64_t sealed, seal_check;
    Synced synced[2];
    uint8_t class_of[256];  // by type
    Column column[kColumns];
};
static_assert(sizeof(Header) <= kPage);

struct Block {  // enough to skip 4,096 rows, to draw them, and to check them
    int64_t t_first, t_last;
    uint64_t types, srcs, dsts;  // bit sets, numbers modulo 64
    uint32_t before[kClasses];   // rows of each class before this block in the segment
    std::atomic<uint64_t> check; // sum << 16 | rows that it covers
    uint16_t within[kParts][kClasses];  // rows of each class before each part in the block
};
static_assert(sizeof(Block) == 128);

class Segment {
public:
    static Segment* create(const std::string& path, const std::vector<Column>& columns,
                           uint64_t capacity, uint64_t first, const uint8_t* class_of);
    static Segment* open(const std::string& path, bool writable);
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment();

    // Appends as many rows as there is room for and returns their number; `-1 - i` when the time of
    // row i is before that of the row before it: then nothing is appended. `ends` are where the
    // payloads end in `payload`, the first beginning at `begin`.
    int64_t append(const void* const* columns, uint64_t count, const uint64_t* ends, uint64_t begin,
                   const char* payload);
    void sync();
    void seal();
    uint64_t recover();          // cut back to rows that check, seal, and return their number
    int64_t verify() const;      // the first block that does not check, -2 for the index; -1: none

    uint64_t rows() const { return header().rows.load(std::memory_order_acquire); }
    const Header& header() const { return *reinterpret_cast<const Header*>(base_); }
    const Block* index() const { return reinterpret_cast<const Block*>(base_ + index_at_); }
    const char* column(int i) const { return base_ + offset_[i]; }
    int width(int i) const { return width_[i]; }
    int payload_column() const { return payload_; }
    uint64_t blocks(uint64_t rows) const { return (rows + kBlock - 1) / kBlock; }
    std::string payload(uint64_t row) const;
    std::string read_payload(uint64_t from, uint64_t to) const;  // empty where it is not there
    // Rows of each class before `time` among the first `rows`, added to `out`.
    void count_before(uint64_t rows, int64_t time, int64_t* out) const;

private:
    Segment(char* base, size_t bytes, bool writable, const std::string& path);
    void lay_out();
    void open_payload(bool create);
    uint64_t write_payload(uint64_t at, const char* from, uint64_t bytes);
    uint64_t sum_block(uint64_t block, uint32_t count) const;
    uint64_t sum_rows(uint64_t from, uint32_t row, uint64_t count) const;
    void index_rows(uint64_t from, uint64_t to);
    uint64_t seal_sum() const;
    Header& own() { return *reinterpret_cast<Header*>(base_); }
    Block* own_index() { return reinterpret_cast<Block*>(base_ + index_at_); }
    const int64_t* times() const { return reinterpret_cast<const int64_t*>(column(0)); }
    const uint64_t* ends() const { return reinterpret_cast<const uint64_t*>(column(payload_)); }

    char* base_;
    size_t bytes_;
    bool writable_;
    std::string path_;
    size_t index_at_ = 0;
    std::vector<size_t> offset_;
    std::vector<int> width_;
    int payload_ = -1, heap_ = -1;
    uint32_t run_[kClasses] = {};
    uint64_t sum_ = 0;  // of the block that is being filled
    int slot_ = 0;
};

// Rows of each class in each of `pixels` equal stretches from t0 to t1; out[pixels][kClasses].
void overview(const std::vector<const Segment*>& segments, const std::vector<uint64_t>& rows,
              int64_t t0, int64_t t1, uint32_t pixels, uint32_t* out);

}  // namespace gnomon::traces
