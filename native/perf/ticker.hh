// A thread that reads groups of counters at fixed points in time, without drift.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "program/footprint.hh"
#include "perf/group.hh"

namespace gnomon {

class Ticker {
  public:
    // `footprint` may be left out; its words are the last of a row.
    Ticker(std::vector<Group*> groups, uint64_t interval_ns, Footprint* footprint = nullptr);
    ~Ticker();
    Ticker(const Ticker&) = delete;
    Ticker& operator=(const Ticker&) = delete;

    void start();
    void stop() noexcept;
    // Reads the footprint from now on; before, the program has not begun to be itself.
    void watch_footprint() { watching_.store(true); }
    // Moves out the rows taken so far: time, then every group's reading in order. A group
    // or a footprint that could not be read has all its words at ~0.
    std::vector<uint64_t> drain();
    size_t row_words() const { return row_words_; }
    // Ticks that were skipped because the machine did not let the thread run in time.
    uint64_t missed() const { return missed_.load(); }

  private:
    void run();
    void take_row();

    std::vector<Group*> groups_;
    Footprint* footprint_;
    std::atomic<bool> watching_{false};
    uint64_t interval_;
    size_t row_words_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::vector<uint64_t> rows_;
    std::atomic<uint64_t> missed_{0};
};

}  // namespace gnomon
