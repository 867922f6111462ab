#include "advice/layout.hh"

#include <algorithm>

namespace gnomon::advice {

using machine::Code;
using machine::Op;
using machine::Supply;

const Move* MovedFeed::find(uint64_t address) {
    if (recent_ < moves_.size() && address >= moves_[recent_].start &&
        address < moves_[recent_].end)
        return &moves_[recent_];
    const auto after = std::upper_bound(
        moves_.begin(), moves_.end(), address,
        [](uint64_t wanted, const Move& move) { return wanted < move.start; });
    if (after == moves_.begin() || address >= (after - 1)->end) return nullptr;
    recent_ = static_cast<size_t>(after - 1 - moves_.begin());
    return &moves_[recent_];
}

Supply MovedFeed::pull(Op* into, size_t room, size_t& given) {
    given = 0;
    if (taken_ == waiting_.size() && supply_ != Supply::ended) {
        waiting_.resize(room);
        size_t pulled = 0;
        supply_ = inner_.pull(waiting_.data(), room, pulled);
        waiting_.resize(pulled);
        taken_ = 0;
        std::vector<Op> made;
        made.reserve(pulled);
        for (Op op : waiting_) {
            const bool reference =
                op.code == Code::load || op.code == Code::store || op.code == Code::atomic;
            const Move* move = reference ? find(op.value) : nullptr;
            const uint64_t before = op.value;
            if (move) op.value = before + static_cast<uint64_t>(move->by);
            made.push_back(op);
            if (!move || op.code == Code::load) continue;
            for (const int64_t copy : move->copies) {
                op.value = before + static_cast<uint64_t>(copy);
                made.push_back(op);
            }
        }
        waiting_.swap(made);
    }
    given = std::min(room, waiting_.size() - taken_);
    std::copy_n(waiting_.data() + taken_, given, into);
    taken_ += given;
    return taken_ < waiting_.size() ? Supply::more : supply_;
}

Supply RecordedFeed::pull(Op* into, size_t room, size_t& given) {
    given = std::min(room, ops_.size() - at_);
    std::copy_n(ops_.data() + at_, given, into);
    at_ += given;
    return at_ == ops_.size() ? Supply::ended : Supply::more;
}

std::shared_ptr<Recorded> deal(machine::Feed& feed, uint32_t setter, uint32_t threads,
                               const std::vector<Part>& parts, uint64_t most) {
    auto dealt = std::make_shared<Recorded>();
    dealt->threads.resize(threads);
    uint32_t owner = setter;
    Op op;
    while (dealt->operations < most) {
        size_t given = 0;
        const Supply supply = feed.pull(&op, 1, given);
        if (!given && supply != Supply::more) break;
        if (!given) continue;
        if (op.code <= Code::atomic) {
            const auto after = std::upper_bound(
                parts.begin(), parts.end(), op.value,
                [](uint64_t wanted, const Part& part) { return wanted < part.start; });
            const bool inside = after != parts.begin() && op.value < (after - 1)->end;
            owner = op.code == Code::store && inside ? (after - 1)->thread : setter;
        } else if (op.code > Code::other) {
            owner = setter;
        }
        dealt->threads[owner].push_back(op);
        ++dealt->operations;
        const bool meets = op.code >= Code::barrier && op.code <= Code::away;
        if (meets || supply == Supply::ended) break;
    }
    return dealt;
}

}  // namespace gnomon::advice
