// What the system and the processes have used so far, read now and then.
#pragma once

#include <string>
#include <vector>

#include "account/log.hh"
#include "account/people.hh"

namespace gnomon::account {

class Resources {
  public:
    // `quotas` are files cpu.stat of the cgroups that limit the program.
    Resources(Log& log, std::vector<int> cpus, std::vector<std::string> quotas);
    ~Resources();
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;

    // Idle CPUs and throttling, at most once a pause unless it is due now.
    void read_system(int64_t now, bool due);
    // Memory and bytes moved; the older a process, the longer the pause.
    void read_process(Process& process, int64_t now);
    void read_processes(People& people, int64_t now);

  private:
    void read_quotas(int64_t now);

    Log& log_;
    std::vector<int> cpus_;
    std::vector<std::string> quotas_;
    std::vector<int> quota_fds_;
    std::string buffer_;
    int stat_fd_ = -1;
    uint64_t tick_ns_;
    int64_t next_system_ = 0;
};

}  // namespace gnomon::account
