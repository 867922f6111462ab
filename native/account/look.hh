// A look at a thread that waits: what it waits in, for what, until when, and its stack.
#pragma once

#include "account/links.hh"

namespace gnomon::account {

// What is taken of frames that are no file's: see record.hh.
constexpr uint32_t kernel_module = 0xfffffffd;
constexpr int32_t in_worker = -3;  // Wait::nr of threads that the kernel runs for a process

enum class Seen : uint8_t {
    waiting,
    running,
    gone,
    refused,
};

class Looker {
  public:
    Looker(People& people, Log& log, std::shared_ptr<frames::Library> library)
        : people_(people), log_(log), peers_(people, log), library_(std::move(library)) {}

    // Adds a moment and a row; `time` is when it began to look.
    Seen look(Thread& thread, int64_t time);
    uint64_t looks() const { return looks_; }
    void forget(int pid) { regions_.erase(pid); }

  private:
    void describe(const Thread& thread, const Call& call, Wait& wait, int64_t time);
    void describe_futex(const Thread& thread, const Call& call, Wait& wait, int64_t time);
    void describe_poll(const Thread& thread, const Call& call, Wait& wait);
    void describe_select(const Thread& thread, const Call& call, Wait& wait);
    void name_links(const Thread& thread, const std::vector<int>& descriptors, Wait& wait,
                    int64_t time);
    // The stack of a thread that waits in `call`; -1 where it moved or cannot be read.
    int32_t stack(Thread& thread, const Call& call, uint8_t& ending, int64_t now);
    int32_t place(Process& process, uint64_t address, int64_t now);
    bool live(const Thread& of, uint32_t tid);

    People& people_;
    Log& log_;
    Peers peers_;
    std::shared_ptr<frames::Library> library_;
    std::vector<uint8_t> copy_;
    frames::Walk walk_;
    std::vector<uint32_t> numbers_;
    std::vector<frames::PythonFrame> python_;
    struct Region {
        uint64_t start, end;
        std::string name;
        uint64_t bias;
    };
    struct Regions {
        int64_t next = 0;
        std::vector<Region> all;
    };
    std::unordered_map<int, Regions> regions_;  // by process: data, too
    uint64_t looks_ = 0;
};

}  // namespace gnomon::account
