#include "machine/channel.hh"

namespace gnomon::machine {

namespace {
// From these shares on a window counts as full, and a flow as wanting more. Bursts that meet
// may block each other well before all slots are taken.
constexpr int64_t full_percent = 80;
constexpr int64_t held_percent = 25;
constexpr int64_t hungry_percent = 85;
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
    // Paced flows fit together, so a short rush is let through: else messages of those who
    // send little would queue behind the others.
    const int64_t limit = pace_ ? slot_bytes * 2 : slot_bytes;
    int64_t number = wanted;
    while (slot(number).used >= limit) ++number;
    if (number > wanted) {
        const int64_t used = slot(number).used;
        start = std::max(start, number * slot_ticks_ + used * slot_ticks_ / limit);
    } else if (!pace_) {
        // Mean wait of random arrivals at a server of this load (M/D/1), from the slot before.
        const int64_t load = std::min(load_before(number, id), highest_load);
        start += bytes * slot_ticks_ / slot_bytes * load / (2 * (slot_bytes - load));
    }
    book(number, id, bytes, limit);
    flow.used += bytes;
    // The wait at a busy but not full channel does not mean that the flow wants more.
    if (number > wanted || (pace_ && start > now)) flow.held += bytes;
    return start - now;
}

// What does not fit into a slot goes over into the next ones.
void Channel::book(int64_t number, uint32_t id, int64_t bytes, int64_t limit) {
    while (bytes > 0) {
        Slot& booked = slot(number++);
        const int64_t part = std::clamp<int64_t>(limit - booked.used, 0, bytes);
        booked.used += part;
        booked.flow = booked.flow == nobody || booked.flow == id ? id : several;
        bytes -= part;
    }
}

Tick Channel::advance(Tick now, Tick window) {
    const Tick length = std::max(window, window_slots * slot_ticks_);
    // After one window without traffic nothing changes any more: skip those that follow.
    for (int closed = 0; closed < 2 && now >= window_start_ + length; ++closed)
        end_window(length);
    if (now >= window_start_ + length) window_start_ = now - (now - window_start_) % length;
    return window_start_ + length;
}

void Channel::end_window(Tick elapsed) {
    const int64_t capacity = elapsed / slot_ticks_ * slot_bytes;
    int64_t total = 0;
    int64_t active = 0;
    for (const Flow& flow : flows_) {
        total += flow.used;
        active += flow.used > 0;
    }
    const bool full = total * 100 >= capacity * full_percent;
    const int64_t share =
        pace_ ? slot_bytes * elapsed / pace_ : capacity / std::max<int64_t>(1, active);
    int64_t hungry = 0;
    modest_.clear();
    for (Flow& flow : flows_) {
        if (flow.used == 0) continue;
        // Who was paced and left some of the share did not want it. Without a pace those may
        // want more who had to wait, unless they send so little that they cannot matter.
        const bool wants_more =
            pace_ ? flow.used * 100 >= share * hungry_percent
                  : flow.used * 2 >= share && flow.held * 100 >= flow.used * held_percent;
        if (wants_more)
            ++hungry;
        else
            modest_.push_back(flow.used);
        flow.used = flow.held = 0;
    }
    const bool paced = hungry > 0 && (full || pace_ > 0);
    pace_ = paced ? slot_bytes * elapsed / fair_share(capacity, hungry) : 0;
    window_start_ += elapsed;
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
