// Threads of a program found by /proc, where no records of the kernel tell of them.
#pragma once

#include "account/log.hh"
#include "account/people.hh"

namespace gnomon::account {

// Tells of a thread that is met for the first time: who made it, its name and its program. `before`:
// it began before it was met.
void introduce(People& people, Log& log, int pid, int tid, int parent, bool before, int64_t now);
// Reads which program a process runs; true when it is another one than before.
bool read_program(Process& process, Log& log, int64_t now);

class Scanner {
  public:
    Scanner(People& people, Log& log) : people_(people), log_(log) {}
    // Looks for new threads and children of those that are known, and for programs that were replaced.
    // Beside records of the kernel, of those alone that they do not tell of.
    void scan(int64_t now, bool unrecorded_only);

  private:
    bool made_since();
    void look_for_threads(Process& process, int64_t now, std::vector<int>& children);
    void look_for_programs(int64_t now, bool unrecorded_only);

    People& people_;
    Log& log_;
    int last_fd_ = -1;
    uint64_t last_ = 0;
    size_t turn_ = 0;
    bool met_ = false;  // a new thread, in this scan
    int64_t next_ = 0, next_programs_ = 0;
};

}  // namespace gnomon::account
