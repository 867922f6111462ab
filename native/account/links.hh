// What descriptors are, and who holds the other end of a pipe or a socket.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "account/log.hh"
#include "account/people.hh"
#include "account/sockets.hh"

namespace gnomon::account {

constexpr size_t most_links = 16;  // of one wait

// As /proc/PID/fd tells; "?" where it does not.
std::string descriptor(int pid, int fd);
// Descriptors that an epoll instance watches.
std::vector<int> epoll_targets(int pid, int fd);

class Peers {
  public:
    Peers(People& people, Log& log) : people_(people), log_(log) {}

    // Records who holds the other end of a link that has not been seen before.
    void look_up(int pid, int fd, const std::string& link, int64_t now);

  private:
    void look_at_descriptors(int64_t now);
    void look_up_pipe(const std::string& link, int64_t now);
    void look_up_socket(int pid, int fd, const std::string& link, int64_t now);
    OtherEnd in_table(int pid, uint64_t inode, int64_t now);
    void read_tcp(int pid, int64_t now);
    void record(const std::string& link, int pid, uint64_t inode, const std::string& address,
                int64_t now);

    People& people_;
    Log& log_;
    struct Seen {
        int times = 0;
        int64_t next = 0;
    };
    std::unordered_map<std::string, Seen> seen_;
    std::unordered_map<std::string, std::unordered_set<int>> holders_;  // by link
    std::unordered_map<uint64_t, Connection> tcp_;
    std::unordered_map<std::string, uint64_t> tcp_ends_;  // "local remote" to inode
    int64_t next_descriptors_ = 0, next_tcp_ = 0;
};

}  // namespace gnomon::account
