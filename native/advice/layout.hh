// The same program with parts of its data elsewhere, and programs that can be repeated.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "machine/program.hh"

namespace gnomon::advice {

// Addresses from `start` on, before `end`, move by `by`. What is stored goes to each of
// `copies` as well, in instructions of its own.
struct Move {
    uint64_t start = 0, end = 0;
    int64_t by = 0;
    std::vector<int64_t> copies;
};

class MovedFeed final : public machine::Feed {
  public:
    // Moves are in order and do not overlap.
    MovedFeed(machine::Feed& inner, std::vector<Move> moves)
        : inner_(inner), moves_(std::move(moves)) {}
    machine::Supply pull(machine::Op* into, size_t room, size_t& given) override;
    bool wait(int milliseconds) override { return inner_.wait(milliseconds); }

  private:
    const Move* find(uint64_t address);

    machine::Feed& inner_;
    std::vector<Move> moves_;
    size_t recent_ = 0;
    std::vector<machine::Op> waiting_;  // what was made and found no room
    size_t taken_ = 0;
    machine::Supply supply_ = machine::Supply::more;
};

// All that a program does, thread by thread.
struct Recorded {
    std::vector<std::vector<machine::Op>> threads;
    uint64_t operations = 0;
    bool complete = true;
};

class RecordedFeed final : public machine::Feed {
  public:
    RecordedFeed(std::shared_ptr<const Recorded> recorded, uint32_t thread)
        : recorded_(std::move(recorded)), ops_(recorded_->threads[thread]) {}
    machine::Supply pull(machine::Op* into, size_t room, size_t& given) override;

  private:
    std::shared_ptr<const Recorded> recorded_;
    const std::vector<machine::Op>& ops_;
    size_t at_ = 0;
};

// Addresses that a thread is to set up.
struct Part {
    uint64_t start = 0, end = 0;
    uint32_t thread = 0;
};

// Deals what a thread does before it first meets others: stores to a part, and the instructions
// that follow each of them, go to the thread that the part belongs to. What is left over, and
// the operation that met others, are its own.
std::shared_ptr<Recorded> deal(machine::Feed& feed, uint32_t setter, uint32_t threads,
                               const std::vector<Part>& parts, uint64_t most);

// Recorded operations, and then those of a feed.
class PrefixedFeed final : public machine::Feed {
  public:
    PrefixedFeed(std::shared_ptr<const Recorded> recorded, uint32_t thread, machine::Feed& inner)
        : first_(std::move(recorded), thread), inner_(inner) {}
    machine::Supply pull(machine::Op* into, size_t room, size_t& given) override {
        first_.pull(into, room, given);
        return given ? machine::Supply::more : inner_.pull(into, room, given);
    }
    bool wait(int milliseconds) override { return inner_.wait(milliseconds); }

  private:
    RecordedFeed first_;
    machine::Feed& inner_;
};

}  // namespace gnomon::advice
