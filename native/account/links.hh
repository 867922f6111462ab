// What descriptors are, and who holds the other end of a pipe or a socket.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "account/log.hh"
#include "account/people.hh"

namespace gnomon::account {

constexpr size_t most_links = 16;  // of one wait

// As /proc/PID/fd tells; "?" where it does not.
std::string descriptor(int pid, int fd);
// Descriptors that an epoll instance watches.
std::vector<int> epoll_targets(int pid, int fd);

// The two ends of a connection over TCP, each as "ADDRESS:PORT", by the inode of the socket.
struct Connection {
    std::string local, remote;
};
// /proc/net/tcp or tcp6; addresses of IPv4 are written the same way in both.
void parse_tcp(std::string_view text, std::unordered_map<uint64_t, Connection>& connections);

class Peers {
  public:
    Peers(People& people, Log& log) : people_(people), log_(log) {}

    // Records who holds the other end of a link that has not been seen before.
    void look_up(int pid, const std::string& link, int64_t now);

  private:
    void look_at_descriptors(int64_t now);
    void look_up_pipe(const std::string& link, int64_t now);
    void look_up_socket(int pid, const std::string& link, int64_t now);
    void read_tcp(int pid, int64_t now);
    uint64_t unix_peer(uint64_t inode, std::string& path);
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
