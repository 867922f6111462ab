#include "machine_channel.hh"

namespace gnomon::machine {

namespace {
// From these shares on a window counts as full, and a flow as wanting more.
constexpr int64_t full_percent = 97;
constexpr int64_t held_percent = 25;
constexpr int64_t hungry_percent = 90;
// Streams come more evenly than the random arrivals for which the formula of the wait holds;
// near saturation it would exaggerate, and there the calendar takes over.
constexpr int64_t highest_load = Channel::slot_bytes * 3 / 4;
}  // namespace

Tick Channel::send(uint32_t id, Tick now, int64_t bytes) {
    Flow& flow = flows_[id];
    Tick start = now;
    if (pace_) {
        start = std::max(start, flow.next);
        flow.next = start + bytes * pace_ / slot_bytes;
    }
    const int64_t wanted = start / slot_ticks_;
    int64_t number = wanted;
    while (slot(number).used + bytes > slot_bytes) ++number;
    Slot& booked = slot(number);
    if (number > wanted) {
        start = std::max(start, number * slot_ticks_ + booked.used * slot_ticks_ / slot_bytes);
    } else if (!pace_) {
        // Mean wait of random arrivals at a server of this load (M/D/1), from the slot before.
        const int64_t load = std::min(load_before(number, id), highest_load);
        start += bytes * slot_ticks_ / slot_bytes * load / (2 * (slot_bytes - load));
    }
    booked.used += bytes;
    booked.flow = booked.flow == nobody || booked.flow == id ? id : several;
    flow.used += bytes;
    // The wait at a busy but not full channel does not mean that the flow wants more.
    if (number > wanted || (pace_ && start > now)) flow.held += bytes;
    return start - now;
}

void Channel::advance(Tick now, Tick window) {
    const Tick length = std::max(window, 16 * slot_ticks_);
    if (now < window_start_ + length) return;
    const Tick elapsed = now - window_start_;
    const int64_t capacity = elapsed / slot_ticks_ * slot_bytes;
    const int64_t share = pace_ ? slot_bytes * elapsed / pace_ : 0;
    int64_t total = 0;
    int64_t hungry = 0;
    modest_.clear();
    for (Flow& flow : flows_) {
        if (flow.used == 0) continue;
        total += flow.used;
        // Who was paced and left some of the share did not want it. Without a pace, only
        // those who had to wait may want more.
        const bool wants_more = pace_ ? flow.used * 100 >= share * hungry_percent
                                      : flow.held * 100 >= flow.used * held_percent;
        if (wants_more)
            ++hungry;
        else
            modest_.push_back(flow.used);
        flow.used = flow.held = 0;
    }
    const bool full = total * 100 >= capacity * full_percent;
    pace_ = full || (pace_ && hungry) ? slot_bytes * elapsed / fair_share(capacity, hungry) : 0;
    window_start_ = now;
}

// Water-filling: the level at which the demands, cut at the level, fill the capacity.
int64_t Channel::fair_share(int64_t capacity, int64_t hungry) {
    std::sort(modest_.begin(), modest_.end());
    int64_t left = capacity;
    auto sharing = static_cast<int64_t>(modest_.size()) + hungry;
    for (const int64_t used : modest_) {
        if (sharing == 1 || used * sharing > left) break;
        left -= used;
        --sharing;
    }
    return std::max<int64_t>(1, left / std::max<int64_t>(1, sharing));
}

}  // namespace gnomon::machine
