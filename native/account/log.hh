// What has been recorded so far: moments in order of time, looks at waits, and texts.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "account/growing.hh"
#include "account/record.hh"

namespace gnomon::account {

// Each text once; numbers are given in the order of first use.
class Texts {
  public:
    int32_t number(std::string_view text) {
        const auto found = numbers_.find(std::string(text));
        if (found != numbers_.end()) return found->second;
        if (texts_.size() >= most) return -1;
        const auto number = static_cast<int32_t>(texts_.size());
        texts_.emplace_back(text);
        numbers_.emplace(texts_.back(), number);
        return number;
    }
    const std::vector<std::string>& all() const { return texts_; }

  private:
    static constexpr size_t most = 1 << 20;
    std::vector<std::string> texts_;
    std::unordered_map<std::string, int32_t> numbers_;
};

class Log {
  public:
    Log(size_t in_memory, std::vector<std::string> folders)
        : room_(in_memory, std::move(folders)),
          moments_(room_, size_t{1} << 30),
          waits_(room_, size_t{1} << 26) {}

    void add(const Moment& moment) { fresh_.push_back(moment); }
    // The number of a new row; -1 where there is no room.
    int32_t add(const Wait& wait) {
        const auto row = static_cast<int32_t>(waits_.size());
        if (waits_.push(wait)) return row;
        ++dropped_;
        return -1;
    }
    Texts& texts() { return texts_; }

    // Puts what is not newer into the table; it will not be long before nothing older comes.
    void settle(int64_t horizon) {
        std::stable_sort(fresh_.begin(), fresh_.end(),
                         [](const Moment& a, const Moment& b) { return a.time < b.time; });
        size_t done = 0;
        for (; done < fresh_.size() && fresh_[done].time <= horizon; ++done) push(fresh_[done]);
        fresh_.erase(fresh_.begin(), fresh_.begin() + static_cast<ptrdiff_t>(done));
    }

    const Table<Moment>& moments() const { return moments_; }
    const Table<Wait>& waits() const { return waits_; }
    const Texts& texts() const { return texts_; }
    // Moments and looks that found no room.
    uint64_t dropped() const { return dropped_; }
    const std::string& spilled_to() const { return room_.spilled_to(); }

  private:
    void push(const Moment& moment) {
        if (!moments_.push(moment)) {
            ++dropped_;
            return;
        }
        // A record that came late goes to its place.
        Moment* at = moments_.end() - 1;
        while (at > moments_.begin() && (at - 1)->time > moment.time) {
            *at = *(at - 1);
            --at;
        }
        *at = moment;
    }

    Room room_;
    Table<Moment> moments_;
    Table<Wait> waits_;
    std::vector<Moment> fresh_;
    Texts texts_;
    uint64_t dropped_ = 0;
};

}  // namespace gnomon::account
