#include "workload/feed.hh"

#include <algorithm>

namespace gnomon::workload {

void Out::grow() {
    const size_t used = ops_.size(), taken = taken_ - ops_.data();
    ops_.resize(2 * used);
    at_ = ops_.data() + used;
    end_ = ops_.data() + ops_.size();
    taken_ = ops_.data() + taken;
}

bool Out::advance() {
    at_ = ops_.data();
    taken_ = at_;
    while (at_ - ops_.data() < static_cast<ptrdiff_t>(goal) && !parts_.empty()) {
        // What it calls comes after it, so a part that is done is the last one.
        const size_t running = parts_.size() - 1;
        parts_[running].resume();
        if (parts_[running].done()) parts_.pop_back();
    }
    return at_ > taken_;
}

size_t Out::take(Op* into, size_t room) {
    const size_t given = std::min(room, static_cast<size_t>(at_ - taken_));
    std::copy_n(taken_, given, into);
    taken_ += given;
    return given;
}

Supply ProgramFeed::pull(Op* into, size_t room, size_t& given) {
    given = 0;
    while (given < room) {
        given += out_.take(into + given, room - given);
        if (given < room && !out_.advance()) break;
    }
    return out_.ended() ? Supply::ended : Supply::more;
}

Steps fill(Out& out, Array array, uint32_t site) {
    for (uint64_t i = array.from; i < array.to; ++i) {
        out.store(array.base + i * array.size, array.size, site);
        out.turn(i + 1 < array.to, site);
        co_await out.pause();
    }
}

Steps prepare(Out& out, Init init, uint32_t thread, uint32_t threads, std::vector<uint64_t> bases,
              uint64_t count, uint8_t size, uint32_t site) {
    if (init == Init::none) co_return;
    const bool all = init == Init::parallel;
    if (all || thread == 0) {
        for (const uint64_t base : bases) {
            const Array array{base, all ? share(count, threads, thread) : 0,
                              all ? share(count, threads, thread + 1) : count, size};
            co_await out.call(fill(out, array, site));
        }
    }
    out.barrier(threads);
}

}  // namespace gnomon::workload
