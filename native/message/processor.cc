#include "message/processor.hh"

#include <algorithm>
#include <cmath>

namespace gnomon::messages {

namespace {
bool later(const Job& a, const Job& b) { return b.before(a); }
}  // namespace

double Processor::speed(size_t running) const {
    const size_t known = speeds_->size();
    if (running <= known) return (*speeds_)[running - 1];
    return (*speeds_)[known - 1] * static_cast<double>(known) / static_cast<double>(running);
}

void Processor::advance(int64_t now) {
    const size_t running = jobs_.size() + spinning_;
    if (running && now > at_) {
        const double passed = static_cast<double>(now - at_);
        busy += passed;
        thread_time += passed * static_cast<double>(running);
        poll_time += passed * static_cast<double>(spinning_);
        if (!jobs_.empty()) {
            const double given = passed * speed(running);
            done_ += given;
            work += given * static_cast<double>(jobs_.size());
        }
    }
    at_ = now;
}

void Processor::start(double work, int64_t owner) {
    // From zero whenever nothing runs, so that sums stay small and exact.
    if (jobs_.empty()) done_ = 0;
    jobs_.push_back({done_ + work, started_++, owner});
    std::push_heap(jobs_.begin(), jobs_.end(), later);
}

double Processor::remove(int64_t owner) {
    for (size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].owner != owner) continue;
        const double left = std::max(0.0, jobs_[i].end - done_);
        jobs_[i] = jobs_.back();
        jobs_.pop_back();
        std::make_heap(jobs_.begin(), jobs_.end(), later);
        return left;
    }
    return 0;
}

Job Processor::finish_first() {
    std::pop_heap(jobs_.begin(), jobs_.end(), later);
    const Job job = jobs_.back();
    jobs_.pop_back();
    // What rounding to whole picoseconds added is nobody's work.
    done_ = job.end;
    return job;
}

int64_t Processor::next_end() const {
    const double left = std::max(0.0, jobs_.front().end - done_);
    return at_ + static_cast<int64_t>(std::ceil(left / speed(jobs_.size() + spinning_)));
}

}  // namespace gnomon::messages
