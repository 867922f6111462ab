#include "perf/ticker.hh"

#include <chrono>
#include <csignal>
#include <pthread.h>

#include "perf/event.hh"

namespace gnomon {

namespace {

size_t words_of(const std::vector<Group*>& groups) {
    size_t words = 1;
    for (const Group* group : groups) words += group->words();
    return words;
}

}  // namespace

Ticker::Ticker(std::vector<Group*> groups, uint64_t interval_ns, Footprint* footprint)
    : groups_(std::move(groups)), footprint_(footprint), interval_(interval_ns),
      row_words_(words_of(groups_) + (footprint ? Footprint::words : 0)) {}

Ticker::~Ticker() { stop(); }

void Ticker::start() {
    if (thread_.joinable()) return;
    stopping_ = false;
    // Signals belong to the main thread: Python handles them there.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Ticker::stop() noexcept {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::vector<uint64_t> Ticker::drain() {
    std::vector<uint64_t> taken;
    std::lock_guard lock(mutex_);
    taken.swap(rows_);
    return taken;
}

void Ticker::take_row() {
    std::vector<uint64_t> row(row_words_, ~uint64_t{0});
    row[0] = monotonic_ns();
    size_t at = 1;
    for (Group* group : groups_) {
        if (group->read(row.data() + at) != 0)
            std::fill_n(row.begin() + static_cast<long>(at), group->words(), ~uint64_t{0});
        at += group->words();
    }
    if (footprint_ && !(watching_.load() && footprint_->read(row.data() + at)))
        std::fill_n(row.begin() + static_cast<long>(at), Footprint::words, ~uint64_t{0});
    std::lock_guard lock(mutex_);
    rows_.insert(rows_.end(), row.begin(), row.end());
}

void Ticker::run() {
    // Deadlines are multiples of the interval from one origin, so errors do not add up.
    const auto origin = std::chrono::steady_clock::now();
    for (uint64_t tick = 1;; ++tick) {
        const auto deadline = origin + std::chrono::nanoseconds(interval_ * tick);
        {
            std::unique_lock lock(mutex_);
            if (wake_.wait_until(lock, deadline, [this] { return stopping_; })) return;
        }
        take_row();
        const auto elapsed = std::chrono::steady_clock::now() - origin;
        const auto passed = static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()) / interval_;
        if (passed > tick) {
            missed_ += passed - tick;
            tick = passed;
        }
    }
}

}  // namespace gnomon
