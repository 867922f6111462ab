#include "traces/segment.hh"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "traces/check.hh"

namespace gnomon::traces {

namespace {

constexpr char kMagic[9] = "GNTRACE1";
constexpr uint32_t kVersion = 1;

[[noreturn]] void fail(int error, const std::string& path) {
    throw std::system_error(error, std::generic_category(), path);
}

size_t paged(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

int width_of(const Column& column) {
    switch (column.type[0] == 'd' ? '8' : column.type[1]) {
    case '1': return 1;
    case '2': return 2;
    case '4': return 4;
    case '8': return 8;
    default: throw std::invalid_argument("a column has no known type");
    }
}

size_t size_of(const Column* columns, uint32_t count, uint64_t capacity) {
    size_t at = kPage;
    for (uint32_t i = 0; i < count; ++i) at += paged(capacity * width_of(columns[i]));
    return at + paged((capacity + kBlock - 1) / kBlock * sizeof(Block));
}

struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) close(fd);
    }
};

}  // namespace

Segment::Segment(char* base, size_t bytes, bool writable, const std::string& path)
    : base_(base), bytes_(bytes), writable_(writable), path_(path) {}

Segment::~Segment() {
    munmap(base_, bytes_);
    if (heap_ >= 0) close(heap_);
}

void Segment::lay_out() {
    size_t at = kPage;
    for (uint32_t i = 0; i < header().columns; ++i) {
        offset_.push_back(at);
        width_.push_back(width_of(header().column[i]));
        if (header().column[i].type[0] == 'd') payload_ = static_cast<int>(i);
        at += paged(header().capacity * width_[i]);
    }
    index_at_ = at;
}

void Segment::open_payload(bool create) {
    if (payload_ < 0) return;
    const std::string path = path_ + ".data";
    const int how = create ? O_RDWR | O_CREAT | O_EXCL : writable_ ? O_RDWR : O_RDONLY;
    heap_ = ::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (heap_ < 0) fail(errno, path);
}

Segment* Segment::create(const std::string& path, const std::vector<Column>& columns,
                         uint64_t capacity, uint64_t first, const uint8_t* class_of) {
    if (columns.size() < kFixed || columns.size() > kColumns)
        throw std::invalid_argument("a segment has 9 to 48 columns");
    if (!capacity || capacity > kCapacity || capacity % kBlock)
        throw std::invalid_argument("a segment has 1 to 256 blocks of 4096 rows");
    const size_t bytes = size_of(columns.data(), static_cast<uint32_t>(columns.size()), capacity);
    Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
    if (file.fd < 0) fail(errno, path);
    // Room is taken now: a disk that is full must be an error here, not a signal at a store.
    if (const int error = posix_fallocate(file.fd, 0, static_cast<off_t>(bytes))) {
        unlink(path.c_str());
        fail(error, path);
    }
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (base == MAP_FAILED) fail(errno, path);
    std::unique_ptr<Segment> made(new Segment(static_cast<char*>(base), bytes, true, path));
    Header& header = made->own();
    std::memcpy(header.magic, kMagic, 8);
    header.version = kVersion;
    header.columns = static_cast<uint32_t>(columns.size());
    header.capacity = capacity;
    header.first = first;
    std::memcpy(header.class_of, class_of, sizeof header.class_of);
    std::copy(columns.begin(), columns.end(), header.column);
    made->lay_out();
    made->open_payload(true);
    return made.release();
}

Segment* Segment::open(const std::string& path, bool writable) {
    Descriptor file{::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW)};
    if (file.fd < 0) fail(errno, path);
    struct stat status;
    if (fstat(file.fd, &status)) fail(errno, path);
    const auto bytes = static_cast<size_t>(status.st_size);
    if (!S_ISREG(status.st_mode) || bytes < kPage) throw std::invalid_argument("it is too short");
    void* base = mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                      file.fd, 0);
    if (base == MAP_FAILED) fail(errno, path);
    std::unique_ptr<Segment> made(new Segment(static_cast<char*>(base), bytes, writable, path));
    const Header& header = made->header();
    if (std::memcmp(header.magic, kMagic, 8)) throw std::invalid_argument("it is no segment");
    if (header.version != kVersion) throw std::invalid_argument("it is of another version");
    if (header.columns < kFixed || header.columns > kColumns || !header.capacity ||
        header.capacity > kCapacity || header.capacity % kBlock || header.rows > header.capacity)
        throw std::invalid_argument("its header makes no sense");
    for (uint32_t i = 0; i < header.columns; ++i)
        if (header.column[i].name[sizeof(Column::name) - 1] || header.column[i].type[3])
            throw std::invalid_argument("its header makes no sense");
    static constexpr int kWidths[kFixed] = {8, 2, 1, 1, 2, 2, 1, 8, 4};
    for (int i = 0; i < kFixed; ++i)
        if (width_of(header.column[i]) != kWidths[i])
            throw std::invalid_argument("its header makes no sense");
    for (const uint8_t each : header.class_of)
        if (each >= kClasses) throw std::invalid_argument("its header makes no sense");
    if (bytes != size_of(header.column, header.columns, header.capacity))
        throw std::invalid_argument("it was cut off");
    made->lay_out();
    made->open_payload(false);
    return made.release();
}

// ---- writing ----------------------------------------------------------------------------------

uint64_t Segment::write_payload(uint64_t at, const char* from, uint64_t bytes) {
    while (bytes) {
        const ssize_t done = pwrite(heap_, from, bytes, static_cast<off_t>(at));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) fail(done ? errno : EIO, path_ + ".data");
        at += static_cast<uint64_t>(done);
        from += done;
        bytes -= static_cast<uint64_t>(done);
    }
    return at;
}

int64_t Segment::append(const void* const* columns, uint64_t count, const uint64_t* ends,
                        uint64_t begin, const char* payload) {
    Header& header = own();
    if (!writable_ || header.sealed) throw std::logic_error("this segment is not open for writing");
    const uint64_t at = header.rows.load(std::memory_order_relaxed);
    count = std::min(count, header.capacity - at);
    if (!count) return 0;
    const auto* time = static_cast<const int64_t*>(columns[0]);
    int64_t last = at ? times()[at - 1] : time[0];
    bool back = false;
    for (uint64_t i = 0; i < count; ++i) {
        back |= time[i] < last;
        last = time[i];
    }
    if (back) {
        last = at ? times()[at - 1] : time[0];
        for (uint64_t i = 0; i < count; last = time[i], ++i)
            if (time[i] < last) return -1 - static_cast<int64_t>(i);
    }
    for (int k = 0; k < static_cast<int>(width_.size()); ++k) {
        char* to = base_ + offset_[k] + at * width_[k];
        if (k != payload_) {
            std::memcpy(to, columns[k], count * width_[k]);
            continue;
        }
        const uint64_t start = at ? this->ends()[at - 1] : 0;
        write_payload(start, payload + begin, ends[count - 1] - begin);
        auto* own_ends = reinterpret_cast<uint64_t*>(to);
        for (uint64_t i = 0; i < count; ++i) own_ends[i] = start + (ends[i] - begin);
    }
    index_rows(at, at + count);
    header.rows.store(at + count, std::memory_order_release);
    return static_cast<int64_t>(count);
}

void Segment::index_rows(uint64_t from, uint64_t to) {
    const auto* type = reinterpret_cast<const uint8_t*>(column(2));
    const auto* src = reinterpret_cast<const uint16_t*>(column(4));
    const auto* dst = reinterpret_cast<const uint16_t*>(column(5));
    const uint8_t* class_of = header().class_of;
    for (uint64_t i = from; i < to;) {
        Block& block = own_index()[i / kBlock];
        const uint64_t begin = i, end = std::min(to, (i / kBlock + 1) * kBlock);
        if (i % kBlock == 0) {
            block.t_first = times()[i];
            block.types = block.srcs = block.dsts = 0;
            std::memcpy(block.before, run_, sizeof run_);
            sum_ = 0;
        }
        uint64_t types = 0, srcs = 0, dsts = 0;
        for (; i < end; ++i) {
            if (i % kPart == 0)
                for (int k = 0; k < kClasses; ++k)
                    block.within[i % kBlock / kPart][k] =
                        static_cast<uint16_t>(run_[k] - block.before[k]);
            types |= 1ull << (type[i] & 63);
            srcs |= 1ull << (src[i] & 63);
            dsts |= 1ull << (dst[i] & 63);
            ++run_[class_of[type[i]]];
        }
        block.types |= types;
        block.srcs |= srcs;
        block.dsts |= dsts;
        block.t_last = times()[end - 1];
        sum_ += sum_rows(begin, static_cast<uint32_t>(begin % kBlock), end - begin);
        const uint64_t covered = (end - 1) % kBlock + 1;
        block.check.store(sum_ * 0x9E3779B97F4A7C15u << 16 | covered, std::memory_order_relaxed);
    }
}

uint64_t Segment::sum_rows(uint64_t from, uint32_t row, uint64_t count) const {
    uint64_t sum = 0;
    for (int k = 0; k < static_cast<int>(width_.size()); ++k) {
        const char* at = column(k) + from * width_[k];
        const auto salt = static_cast<uint32_t>(k + 1);
        switch (width_[k]) {
        case 1: sum += sum_of(reinterpret_cast<const uint8_t*>(at), row, count, salt); break;
        case 2: sum += sum_of(reinterpret_cast<const uint16_t*>(at), row, count, salt); break;
        case 4: sum += sum_of(reinterpret_cast<const uint32_t*>(at), row, count, salt); break;
        default: sum += sum_of(reinterpret_cast<const uint64_t*>(at), row, count, salt);
        }
    }
    if (payload_ >= 0 && count) {
        const uint64_t begin = from ? ends()[from - 1] : 0;
        const std::string bytes = read_payload(begin, ends()[from + count - 1]);
        uint64_t last = begin;
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t end = ends()[from + i];
            if (end < last || end - begin > bytes.size()) return ~sum;  // it cannot be right
            const uint64_t found = digest(bytes.data() + (last - begin), end - last);
            sum += term(found, row + static_cast<uint32_t>(i), 99);
            last = end;
        }
    }
    return sum;
}

uint64_t Segment::sum_block(uint64_t block, uint32_t count) const {
    return sum_rows(block * kBlock, 0, count) * 0x9E3779B97F4A7C15u << 16 | count;
}

std::string Segment::payload(uint64_t row) const {
    if (payload_ < 0 || row >= rows()) return {};
    return read_payload(row ? ends()[row - 1] : 0, ends()[row]);
}

std::string Segment::read_payload(uint64_t from, uint64_t to) const {
    struct stat status;
    if (to <= from || fstat(heap_, &status) || to > static_cast<uint64_t>(status.st_size))
        return {};
    std::string bytes(to - from, '\0');
    size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t done = pread(heap_, bytes.data() + have, bytes.size() - have,
                                   static_cast<off_t>(from + have));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return {};
        have += static_cast<size_t>(done);
    }
    return bytes;
}

// ---- keeping ----------------------------------------------------------------------------------

void Segment::sync() {
    Header& header = own();
    if (!writable_) return;
    const uint64_t rows = header.rows.load(std::memory_order_relaxed);
    if (rows % kBlock) {  // of two slots, one is always that of an older sync
        slot_ ^= 1;
        header.synced[slot_] = {rows, index()[rows / kBlock].check.load(std::memory_order_relaxed)};
    }
    if (heap_ >= 0 && fdatasync(heap_)) fail(errno, path_ + ".data");
    if (msync(base_, bytes_, MS_SYNC)) fail(errno, path_);
}

uint64_t Segment::seal_sum() const {
    const uint64_t rows = header().rows.load(std::memory_order_acquire);
    const uint64_t whole[4] = {rows, header().first, header().capacity, header().columns};
    return digest(index(), blocks(rows) * sizeof(Block)) ^
           digest(header().column, sizeof header().column) * 3 ^
           digest(header().class_of, sizeof header().class_of) * 5 ^ digest(whole, sizeof whole);
}

void Segment::seal() {
    if (!writable_) throw std::logic_error("this segment is not open for writing");
    own().seal_check = seal_sum();
    own().sealed = 1;
}

int64_t Segment::verify() const {
    const uint64_t rows = this->rows();
    if (header().sealed && header().seal_check != seal_sum()) return -2;
    for (uint64_t b = 0; b < blocks(rows); ++b) {
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(kBlock, rows - b * kBlock));
        const uint64_t check = index()[b].check.load(std::memory_order_relaxed);
        // A segment that is being written, or whose writer was killed, may be ahead of its rows.
        const auto covered = static_cast<uint32_t>(check & 0xFFFF);
        if (covered < count || covered > kBlock || check != sum_block(b, covered))
            return static_cast<int64_t>(b);
    }
    return -1;
}

uint64_t Segment::recover() {
    Header& header = own();
    if (!writable_) throw std::logic_error("this segment is not open for writing");
    const uint64_t claimed = header.rows.load(std::memory_order_relaxed);
    uint64_t good = 0;
    for (uint64_t b = 0; b < blocks(claimed); ++b) {
        const uint64_t begin = b * kBlock, check = index()[b].check;
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(kBlock, claimed - begin));
        const auto covered = static_cast<uint32_t>(check & 0xFFFF);
        if (covered >= count && covered <= kBlock && check == sum_block(b, covered)) {
            good = begin + count;
            continue;
        }
        for (const Synced& each : header.synced)
            if (each.rows > std::max(begin, good) && each.rows - begin < kBlock &&
                each.check == sum_block(b, static_cast<uint32_t>(each.rows - begin)))
                good = each.rows;
        break;
    }
    uint64_t ordered = good ? 1 : 0;
    while (ordered < good && times()[ordered - 1] <= times()[ordered] &&
           (payload_ < 0 || ends()[ordered - 1] <= ends()[ordered]))
        ++ordered;
    good = std::min(good, ordered);
    // The index of what stays is made anew: its pages may be among those that were lost.
    std::memset(run_, 0, sizeof run_);
    index_rows(0, good);
    header.rows.store(good, std::memory_order_release);
    seal();
    sync();
    return good;
}

// ---- overview ---------------------------------------------------------------------------------

void Segment::count_before(uint64_t rows, int64_t time, int64_t* out) const {
    if (!rows) return;
    // Whole blocks and parts come from the index, what is left is counted: exact at any zoom.
    const Block* end = index() + blocks(rows);
    const Block* found = std::partition_point(
        index(), end, [time](const Block& block) { return block.t_last < time; });
    const auto block = static_cast<uint64_t>(std::min(found, end - 1) - index());
    const uint64_t start = block * kBlock, stop = std::min(rows, start + kBlock);
    const int64_t* to = std::lower_bound(times() + start, times() + stop, time);
    const auto last = static_cast<uint64_t>(to - times());
    const uint64_t part = last > start ? (last - 1 - start) / kPart : 0;
    const uint64_t from = start + part * kPart;
    for (int k = 0; k < kClasses; ++k)
        out[k] += index()[block].before[k] + index()[block].within[part][k];
    const auto* type = reinterpret_cast<const uint8_t*>(column(2));
    const uint8_t* class_of = header().class_of;
    uint32_t counts[4][kClasses] = {};  // four at a time: a count need not wait for the one before
    uint64_t i = from;
    for (; i + 4 <= last; i += 4)
        for (int lane = 0; lane < 4; ++lane) ++counts[lane][class_of[type[i + lane]]];
    for (; i < last; ++i) ++counts[0][class_of[type[i]]];
    for (const auto& lane : counts)
        for (int k = 0; k < kClasses; ++k) out[k] += lane[k];
}

void overview(const std::vector<const Segment*>& segments, const std::vector<uint64_t>& rows,
              int64_t t0, int64_t t1, uint32_t pixels, uint32_t* out) {
    int64_t sum[kClasses] = {}, previous[kClasses] = {};
    size_t done = 0;
    for (uint32_t p = 0; p <= pixels; ++p) {
        const auto span = static_cast<__int128>(t1) - t0;
        const auto edge = static_cast<int64_t>(t0 + span * p / pixels);
        // Segments that end before the edge are summed once; at most a few are searched.
        for (; done < segments.size(); ++done) {
            const auto* times = reinterpret_cast<const int64_t*>(segments[done]->column(0));
            if (rows[done] && times[rows[done] - 1] >= edge) break;
            segments[done]->count_before(rows[done], edge, sum);
        }
        int64_t now[kClasses];
        std::copy(sum, sum + kClasses, now);
        for (size_t i = done; i < segments.size(); ++i) {
            const auto* times = reinterpret_cast<const int64_t*>(segments[i]->column(0));
            if (rows[i] && times[0] >= edge) break;
            segments[i]->count_before(rows[i], edge, now);
        }
        for (int k = 0; k < kClasses; ++k) {
            if (p) out[(p - 1) * kClasses + k] = static_cast<uint32_t>(now[k] - previous[k]);
            previous[k] = now[k];
        }
    }
}

}  // namespace gnomon::traces
