// Records of several rings in order of time. Each ring is read up to a moment of its own, so what is
// newer than the moment before the first was read waits for the next reading.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "frames/cursor.hh"

namespace gnomon::account {

class RecordOrder {
  public:
    void add(int64_t time, frames::Bytes record) {
        places_.push_back({time, next_++, bytes_.size(), record.size()});
        bytes_.insert(bytes_.end(), record.begin(), record.end());
    }

    // Gives all that is not newer, the oldest first; of the same time, in the order of adding.
    template <typename Take>
    void take(int64_t horizon, Take take) {
        std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
            return a.time != b.time ? a.time < b.time : a.number < b.number;
        });
        size_t done = 0;
        for (; done < places_.size() && places_[done].time <= horizon; ++done)
            take(places_[done].time,
                 frames::Bytes(bytes_).subspan(places_[done].start, places_[done].size));
        keep_from(done);
    }

    size_t waiting() const { return places_.size(); }

  private:
    struct Place {
        int64_t time;
        uint64_t number;
        size_t start, size;
    };
    void keep_from(size_t done) {
        std::vector<uint8_t> kept;
        for (size_t i = done; i < places_.size(); ++i) {
            const auto part = frames::Bytes(bytes_).subspan(places_[i].start, places_[i].size);
            places_[i].start = kept.size();
            kept.insert(kept.end(), part.begin(), part.end());
        }
        places_.erase(places_.begin(), places_.begin() + static_cast<ptrdiff_t>(done));
        bytes_.assign(kept.begin(), kept.end());
    }

    std::vector<Place> places_;
    std::vector<uint8_t> bytes_;
    uint64_t next_ = 0;
};

}  // namespace gnomon::account
