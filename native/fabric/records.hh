// Packets that were seen, in order of time, as columns.
#pragma once

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "fabric/packet.hh"

namespace gnomon::fabric {

// What a record says beside its columns: an echo that its packet must be sent again, the label of
// a retry (two bits from `flag_label`), and the three that follow.
enum Flag : uint8_t {
    flag_busy = 1, flag_label = 2, flag_retry = 8, flag_own = 16, flag_to_ring = 32
};

struct Row {
    Time time;
    uint64_t address;
    uint32_t age, idles;
    uint16_t controller, source, target;
    uint8_t type, flags, transaction;
};

struct Columns {
    std::vector<int64_t> time;
    std::vector<uint64_t> address;
    std::vector<uint32_t> age, idles;
    std::vector<uint16_t> controller, source, target;
    std::vector<uint8_t> type, flags, transaction;

    // Times are in ns, rounded.
    void add(const Row& row, double symbol_ns) {
        time.push_back(static_cast<int64_t>(static_cast<double>(row.time) * symbol_ns + 0.5));
        address.push_back(row.address);
        age.push_back(
            static_cast<uint32_t>(std::min(row.age * symbol_ns + 0.5, double{UINT32_MAX})));
        idles.push_back(row.idles);
        controller.push_back(row.controller);
        source.push_back(row.source);
        target.push_back(row.target);
        type.push_back(row.type);
        flags.push_back(row.flags);
        transaction.push_back(row.transaction);
    }
    size_t size() const { return time.size(); }
};

// Controllers run one after the other over a window, so their rows come in the order of
// controllers: each row waits in the bucket of its time until the window is over.
class Recorder {
  public:
    Recorder(Time delay, double symbol_ns)
        : buckets_(static_cast<size_t>(delay) + 1), symbol_ns_(symbol_ns) {}

    void add(Time window, const Row& row) {
        buckets_[static_cast<size_t>(row.time - window)].push_back(row);
    }
    // Of a transfer on the Blink, which may end long after this window.
    void later(const Row& row) { later_.push(row); }

    // Ends the window that begins at `window` and is `length` long.
    void close(Time window, Time length) {
        for (Time at = 0; at < length; ++at) {
            auto& bucket = buckets_[static_cast<size_t>(at)];
            while (!later_.empty() && later_.top().time <= window + at) {
                bucket.push_back(later_.top());
                later_.pop();
                mixed_ = true;
            }
            if (mixed_ || at == 0) sort(bucket);
            for (const Row& row : bucket) columns_.add(row, symbol_ns_);
            bucket.clear();
            mixed_ = false;
        }
        // The head that follows a packet out of the bypass FIFO can fall on the next window.
        buckets_[0].swap(buckets_[static_cast<size_t>(length)]);
    }

    Columns take() {
        Columns taken;
        std::swap(taken, columns_);
        return taken;
    }
    size_t size() const { return columns_.size(); }

  private:
    struct Later {
        bool operator()(const Row& one, const Row& other) const { return order(other, one); }
    };
    static bool order(const Row& one, const Row& other) {
        return std::tie(one.time, one.controller, one.type, one.source, one.target,
                        one.transaction) < std::tie(other.time, other.controller, other.type,
                                                    other.source, other.target,
                                                    other.transaction);
    }
    static void sort(std::vector<Row>& bucket) {
        std::stable_sort(bucket.begin(), bucket.end(), order);
    }

    std::vector<std::vector<Row>> buckets_;
    std::priority_queue<Row, std::vector<Row>, Later> later_;
    Columns columns_;
    double symbol_ns_;
    bool mixed_ = false;
};

}  // namespace gnomon::fabric
