// The threads and processes of a recording, with what is kept of each.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "account/procfs.hh"
#include "frames/python_reader.hh"
#include "frames/space.hh"

namespace gnomon::account {

enum class State : uint8_t { unknown, on, waiting, runnable };

struct Thread {
    int pid = 0, tid = 0;
    State state = State::unknown;
    bool looked = false;    // at this wait
    bool unrecorded = false;  // no records of the kernel tell of it: see Process
    bool missed = false;    // there was no time for a look at it
    bool ran = true;        // since its schedule was read
    bool of_late = false;   // ran in the time between the last two ticks
    bool worker = false;    // of the kernel, as those of io_uring
    int64_t last = 0;       // when it changed
    uint64_t slices = ~uint64_t{0}, on = 0;
    int schedule_fd = -1, call_fd = -1, channel_fd = -1;
};

struct Process {
    int pid = 0, parent = 0;
    int64_t born = 0, next_reading = 0, next_python = 0;
    bool ended = false;
    bool refused = false;        // its calls and its memory are not ours to see
    bool maps_known = false;     // by records or by reading
    std::unique_ptr<frames::Space> space;
    std::vector<frames::MapRequest> pending;  // records that the space has not taken yet
    std::unique_ptr<frames::PythonReader> python;
    bool unrecorded = false;     // the kernel ended our events, as of programs that are setuid
    int64_t executed = 0;        // when it last replaced its program
    bool maybe_python = false;
    bool names_program = false;  // by the first file that it maps
    std::string comm, exe;
    int64_t peak = -1, bytes_read = -1, bytes_written = -1;
};

class People {
  public:
    People(std::shared_ptr<frames::Library> library,
           std::shared_ptr<frames::PythonFunctions> functions, size_t most_descriptors)
        : library_(std::move(library)),
          functions_(std::move(functions)),
          descriptors_left_(most_descriptors) {}
    ~People();

    Thread& thread(int pid, int tid);
    Thread* find(int tid) {
        const auto found = threads_.find(tid);
        return found == threads_.end() ? nullptr : &found->second;
    }
    Process& process(int pid);
    Process* find_process(int pid) {
        const auto found = processes_.find(pid);
        return found == processes_.end() ? nullptr : &found->second;
    }
    // A child with the mappings of its parent.
    void fork(int pid, int parent, int64_t time);
    void exec(int pid);
    void map(int pid, frames::MapRequest request);
    void forget(int tid);
    void forget_all();
    void forget_process(int pid) { processes_.erase(pid); }

    std::unordered_map<int, Thread>& threads() { return threads_; }
    std::unordered_map<int, Process>& processes() { return processes_; }

    // Mappings as far as they have been told, read from /proc where they have not.
    frames::Space& space(Process& process);
    void refresh(Process& process);
    // Null where no interpreter runs, or none that can be read.
    frames::PythonReader* python(Process& process, int64_t now);

    int schedule(Thread& thread, Schedule& schedule);
    // 0, or errno.
    int call(Thread& thread, CallState& state, Call& call);
    std::string channel(Thread& thread);

  private:
    int read(const Thread& thread, int& fd, const char* name, char* buffer, size_t size, size_t& got);
    void close_files(Thread& thread);

    std::shared_ptr<frames::Library> library_;
    std::shared_ptr<frames::PythonFunctions> functions_;
    std::unordered_map<int, Thread> threads_;
    std::unordered_map<int, Process> processes_;
    size_t descriptors_left_;
};

}  // namespace gnomon::account
