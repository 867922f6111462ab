// The two ends of a socket: its addresses, and the inode of its other end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gnomon::account {

// The two ends of a connection over TCP, each as "ADDRESS:PORT".
struct Connection {
    std::string local, remote;
};
// /proc/net/tcp or tcp6, by the inode of the socket; addresses of IPv4 are written the same in both.
void parse_tcp(std::string_view text, std::unordered_map<uint64_t, Connection>& connections);

struct OtherEnd {
    bool known = false;   // else the descriptor could not be borrowed
    uint64_t inode = 0;   // 0: of no socket on this host
    std::string address;  // "tcp ADDRESS:PORT", "unix PATH", "udp ..."; empty where it has none
};
// Asks the kernel about a socket of another process, by a copy of its descriptor.
OtherEnd other_end(int pid, int fd, uint64_t inode);

}  // namespace gnomon::account
