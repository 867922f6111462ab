// The memory that a traced program and the simulator share, from the simulator's side.
#pragma once

#include <atomic>
#include <memory>
#include <sys/types.h>

#include "format.h"
#include "machine/program.hh"

namespace gnomon::machine {

class TraceChannel {
  public:
    // Makes the memory; a program that inherits the descriptor finds it.
    explicit TraceChannel(bool has_tasks);
    ~TraceChannel();
    TraceChannel(const TraceChannel&) = delete;
    TraceChannel& operator=(const TraceChannel&) = delete;

    int fd() const { return fd_; }
    void close_fd();
    // Says which process writes, so that its end is noticed.
    void watch(pid_t pid);
    // Records no more; threads that wait for room go on.
    void detach();
    bool writer_is_gone();
    pid_t pid() const { return pid_; }
    gnomon_trace& trace() { return *trace_; }
    const gnomon_header& header() const { return trace_->header; }

  private:
    gnomon_trace* trace_ = nullptr;
    int fd_ = -1;
    int pid_fd_ = -1;
    pid_t pid_ = -1;
    std::atomic<bool> gone_ = false;
    std::atomic<int64_t> looked_ = 0;
};

// The records of one thread as operations.
//
// A range of more than 16 bytes is made of pieces that do not cross a multiple of 16; a copy
// loads and stores piece by piece.
class TraceFeed : public Feed {
  public:
    TraceFeed(std::shared_ptr<TraceChannel> channel, uint32_t number);
    Supply pull(Op* into, size_t room, size_t& given) override;
    bool wait(int milliseconds) override;

  private:
    bool has_record() const;
    bool has_ended();
    bool sleeps() const;
    bool take(Op* into, size_t room, size_t& given);
    void take_short(Op* into, size_t room, size_t& given);
    void expand(Op* into, size_t room, size_t& given);
    void give_back(uint64_t consumed);

    std::shared_ptr<TraceChannel> channel_;
    gnomon_slot& slot_;
    const uint64_t* ring_;
    uint64_t at_ = 0;
    struct {
        uint64_t from = 0, to = 0, bytes = 0;
        bool whole = false;  // small enough for one reference
        bool loads = false, stores = false;
        bool half = false;  // of a copy: the load of this piece was given
    } range_;
    int64_t idle_ns_ = 0;   // how long we have waited for it since it was busy
    bool is_away_ = false;   // said so since the last record
    bool say_away_ = false;  // in place of a thread that sleeps unannounced
};

}  // namespace gnomon::machine
