// Where transactions come from: distributions, saturation, or a list with times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabric/packet.hh"
#include "message/random.hh"

namespace gnomon::fabric {

struct Transaction {
    Time time;
    uint64_t address;
    uint16_t source, target;
    uint8_t type, answer, category;
};

// A sort of transaction, with its share of all.
struct Sort {
    uint8_t type, answer, category;
    double until;  // share of this sort and those before
};

enum class Arrivals : uint8_t { none, exponential, uniform, table, saturated };

struct Load {
    Arrivals arrivals = Arrivals::none;
    double mean = 0, low = 0, high = 0;      // symbols between two transactions of a node
    std::vector<double> edges, until;        // table: bins, and the share up to each one's end
    uint32_t depth = 8;                      // saturated: transactions that wait at each node
    std::vector<Sort> sorts;
    uint32_t hosts = 0;                      // nodes that make transactions, the first ones
    std::vector<double> targets;             // (node, target): cumulative; empty: uniform
    uint64_t window_bytes = 64u << 20;
    Time stop = never;                       // no transaction begins after this
};

// A transaction ended, or one left a saturated node: what may be begun then.
struct Release {
    Time time;
    uint32_t by;
    int32_t what;  // a category, -1: a token of saturation
};

class Source {
  public:
    Source(uint32_t node, uint32_t hosts, uint32_t nodes, uint64_t seed)
        : random_(seed, node), node_(node), hosts_(hosts), nodes_(nodes) {}

    Time next() const {
        return listed_.empty() ? born_ : std::min(listed_.front().time, born_);
    }
    void begin(const Load& load);
    Transaction take(const Load& load);
    // One more, at this moment.
    Transaction draw(const Load& load, Time time);
    void add(const Transaction& each) { listed_.push(each); }

  private:
    double between(const Load& load);
    void step(const Load& load);

    messages::Random random_;
    uint32_t node_, hosts_, nodes_;
    double exact_ = 0;
    Time born_ = never;
    Fifo<Transaction> listed_;
};

}  // namespace gnomon::fabric
