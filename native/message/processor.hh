// A core whose threads share it: each of n that run gets the speed that the machine gives to n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::messages {

struct Job {
    double end;  // in work that each job has been given since the core was last idle
    uint64_t order;
    int64_t owner;

    bool before(const Job& other) const {
        return end != other.end ? end < other.end : order < other.order;
    }
};

class Processor {
public:
    // speeds[n - 1]: of each of n threads; more threads share what the last n had together.
    explicit Processor(const std::vector<double>& speeds) : speeds_(&speeds) {}

    void advance(int64_t now);
    void start(double work, int64_t owner);
    void spin() { ++spinning_; }
    void stop_spinning() { --spinning_; }
    // The work that is left of a job that is taken away.
    double remove(int64_t owner);
    Job finish_first();

    bool has_jobs() const { return !jobs_.empty(); }
    // When the first job ends if nothing else happens.
    int64_t next_end() const;

    // In ps: with anything running, over all threads, of these merely polling; and work done.
    double busy = 0, thread_time = 0, poll_time = 0, work = 0;

private:
    double speed(size_t running) const;

    const std::vector<double>* speeds_;
    std::vector<Job> jobs_;
    size_t spinning_ = 0;
    double done_ = 0;
    int64_t at_ = 0;
    uint64_t started_ = 0;
};

}  // namespace gnomon::messages
