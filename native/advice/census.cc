#include "advice/census.hh"

#include <algorithm>

namespace gnomon::advice {

using machine::Code;
using machine::Op;
using machine::Supply;

Census::Census(uint32_t threads, uint64_t page_bytes) : page_bytes_(page_bytes) {
    for (uint32_t thread = 0; thread < threads; ++thread) {
        pages_.emplace_back(thread);
        blocks_.emplace_back(thread);
    }
}

void Census::count(uint32_t thread, uint64_t address, uint32_t bytes, bool reads, bool writes) {
    PageCell& page = pages_[thread].at(address / page_bytes_);
    page.loads += reads;
    page.stores += writes;
    uint64_t left = std::max<uint32_t>(bytes, 1);
    for (bool first = true; left; first = false) {
        BlockCell& block = blocks_[thread].at(address / block_bytes);
        const uint64_t offset = address % block_bytes;
        const uint64_t here = std::min<uint64_t>(left, block_bytes - offset);
        const uint64_t ones = here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1;
        block.loads += first && reads;
        block.stores += first && writes;
        if (reads) block.read_bytes |= ones << offset;
        if (writes) block.written_bytes |= ones << offset;
        address += here;
        left -= here;
    }
}

std::vector<PageCell> Census::take_pages() {
    std::vector<PageCell> all;
    for (auto& pages : pages_) {
        all.insert(all.end(), pages.all().begin(), pages.all().end());
        pages.clear();
    }
    return all;
}

std::vector<BlockCell> Census::blocks() const {
    std::vector<BlockCell> all;
    for (const auto& blocks : blocks_)
        all.insert(all.end(), blocks.all().begin(), blocks.all().end());
    return all;
}

Supply CountedFeed::pull(Op* into, size_t room, size_t& given) {
    // Few at a time, and none beyond a meeting with others: they are counted when they are
    // taken, which is to be when they are done.
    if (at_ == filled_) {
        at_ = filled_ = 0;
        supply_ = inner_.pull(ops_.data(), ops_.size(), filled_);
    }
    given = 0;
    bool meets = false;
    while (!meets && at_ < filled_ && given < room) {
        const Op& op = into[given++] = ops_[at_++];
        meets = op.code >= Code::barrier && op.code <= Code::away;
        const bool atomic = op.code == Code::atomic;
        if (op.code == Code::load || op.code == Code::store || atomic)
            census_.count(thread_, op.value, op.size, atomic || op.code == Code::load,
                          atomic || op.code == Code::store);
    }
    return at_ < filled_ ? Supply::more : supply_;
}

}  // namespace gnomon::advice
