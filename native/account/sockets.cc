#include "account/sockets.hh"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace gnomon::account {

namespace {

// Addresses as the kernel's tables have them: IPv4 in the first word.
struct End {
    bool v6 = false;
    uint32_t words[4] = {};
    uint16_t port = 0;  // in the order of the network
};

std::string text_of(const End& end) {
    char out[INET6_ADDRSTRLEN] = "";
    inet_ntop(end.v6 ? AF_INET6 : AF_INET, end.words, out, sizeof out);
    const std::string host = end.v6 ? "[" + std::string(out) + "]" : std::string(out);
    return host + ":" + std::to_string(ntohs(end.port));
}

// Addresses of IPv4 within IPv6 are those of IPv4.
void unmap(End& end) {
    if (!end.v6 || end.words[0] || end.words[1] || end.words[2] != htonl(0xffff)) return;
    end.v6 = false;
    end.words[0] = end.words[3];
    end.words[1] = end.words[2] = end.words[3] = 0;
}

bool end_of(const sockaddr_storage& address, End& end) {
    if (address.ss_family == AF_INET) {
        sockaddr_in given;
        std::memcpy(&given, &address, sizeof given);
        end.words[0] = given.sin_addr.s_addr;
        end.port = given.sin_port;
        return true;
    }
    if (address.ss_family != AF_INET6) return false;
    sockaddr_in6 given;
    std::memcpy(&given, &address, sizeof given);
    end.v6 = true;
    std::memcpy(end.words, &given.sin6_addr, sizeof end.words);
    end.port = given.sin6_port;
    unmap(end);
    return true;
}

// "0100007F:1F90" of IPv4, 32 digits of IPv6.
std::string address_of(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view digits = text.substr(0, colon);
    if (digits.size() != 8 && digits.size() != 32) return {};
    End end;
    end.v6 = digits.size() == 32;
    for (size_t i = 0; i < digits.size() / 8; ++i) {
        const char* at = digits.data() + 8 * i;
        if (std::from_chars(at, at + 8, end.words[i], 16).ptr != at + 8) return {};
    }
    unsigned port = 0;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
    end.port = htons(static_cast<uint16_t>(port));
    unmap(end);
    return text_of(end);
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (size_t at = 0; at < line.size();) {
        while (at < line.size() && line[at] == ' ') ++at;
        const size_t stop = std::min(line.find(' ', at), line.size());
        if (stop > at) words.push_back(line.substr(at, stop - at));
        at = stop;
    }
    return words;
}

// A question over netlink with one answer, whose bytes are given; empty where there is none.
template <typename Request>
std::string ask(const Request& request) {
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return {};
    struct {
        nlmsghdr header;
        Request request;
    } question = {};
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.request = request;
    const timeval limit{0, 20'000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    alignas(nlmsghdr) char answer[4096];
    ssize_t got = -1;
    if (send(fd, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question))
        got = recv(fd, answer, sizeof answer, 0);
    close(fd);
    nlmsghdr header;
    if (got < static_cast<ssize_t>(sizeof header)) return {};
    std::memcpy(&header, answer, sizeof header);
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len < NLMSG_HDRLEN ||
        header.nlmsg_len > static_cast<size_t>(got))
        return {};
    return {answer + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN};
}

uint64_t tcp_inode(const End& local, const End& remote) {
    inet_diag_req_v2 request = {};
    request.sdiag_family = local.v6 ? AF_INET6 : AF_INET;
    request.sdiag_protocol = IPPROTO_TCP;
    request.idiag_states = ~0u;
    request.id.idiag_sport = local.port;
    request.id.idiag_dport = remote.port;
    std::memcpy(request.id.idiag_src, local.words, sizeof local.words);
    std::memcpy(request.id.idiag_dst, remote.words, sizeof remote.words);
    request.id.idiag_cookie[0] = request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    const std::string answer = ask(request);
    inet_diag_msg found;
    if (answer.size() < sizeof found) return 0;
    std::memcpy(&found, answer.data(), sizeof found);
    return found.id.idiag_dport == remote.port ? found.idiag_inode : 0;
}

uint64_t unix_inode(uint64_t inode) {
    unix_diag_req request = {};
    request.sdiag_family = AF_UNIX;
    request.udiag_states = ~0u;
    request.udiag_ino = static_cast<uint32_t>(inode);
    request.udiag_cookie[0] = request.udiag_cookie[1] = ~0u;
    request.udiag_show = UDIAG_SHOW_PEER;
    const std::string answer = ask(request);
    uint64_t other = 0;
    for (size_t at = NLMSG_ALIGN(sizeof(unix_diag_msg)); at + sizeof(nlattr) <= answer.size();) {
        nlattr attribute;
        std::memcpy(&attribute, answer.data() + at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || at + attribute.nla_len > answer.size()) break;
        if (attribute.nla_type == UNIX_DIAG_PEER && attribute.nla_len >= sizeof attribute + sizeof(uint32_t)) {
            uint32_t number;
            std::memcpy(&number, answer.data() + at + sizeof attribute, sizeof number);
            other = number;
        }
        at += NLA_ALIGN(attribute.nla_len);
    }
    return other;
}

// A descriptor of ours for what is open in another process; -1 where that is not allowed.
int borrow(int pid, int fd) {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
    const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (process < 0) return -1;
    const auto borrowed = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
    close(process);
    return borrowed;
#else
    (void)pid;
    (void)fd;
    return -1;
#endif
}

std::string unix_path(const sockaddr_storage& address, socklen_t size) {
    constexpr size_t head = sizeof(sa_family_t);
    if (size <= head) return {};
    const auto* path = reinterpret_cast<const char*>(&address) + head;
    const size_t length = size - head;
    if (path[0] != '\0') return {path, strnlen(path, length)};
    return "@" + std::string(path + 1, strnlen(path + 1, length - 1));
}

}  // namespace

void parse_tcp(std::string_view text, std::unordered_map<uint64_t, Connection>& connections) {
    for (size_t start = text.find('\n'); start < text.size();) {
        const size_t stop = std::min(text.find('\n', ++start), text.size());
        const auto words = words_of(text.substr(start, stop - start));
        start = stop;
        uint64_t inode = 0;
        if (words.size() < 10) continue;
        std::from_chars(words[9].data(), words[9].data() + words[9].size(), inode);
        if (inode) connections[inode] = {address_of(words[1]), address_of(words[2])};
    }
}

OtherEnd other_end(int pid, int fd, uint64_t inode) {
    OtherEnd found;
    const int borrowed = borrow(pid, fd);
    if (borrowed < 0) return found;
    found.known = true;
    int domain = 0, kind = 0;
    socklen_t size = sizeof domain;
    getsockopt(borrowed, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    size = sizeof kind;
    getsockopt(borrowed, SOL_SOCKET, SO_TYPE, &kind, &size);
    sockaddr_storage local = {}, remote = {};
    socklen_t local_size = sizeof local, remote_size = sizeof remote;
    const bool connected =
        getsockname(borrowed, reinterpret_cast<sockaddr*>(&local), &local_size) == 0 &&
        getpeername(borrowed, reinterpret_cast<sockaddr*>(&remote), &remote_size) == 0;
    close(borrowed);
    if (domain == AF_UNIX) {
        std::string path = connected ? unix_path(remote, remote_size) : std::string();
        if (connected && path.empty()) path = unix_path(local, local_size);
        found.inode = unix_inode(inode);
        found.address = path.empty() ? "unix" : "unix " + path;
        return found;
    }
    End here, there;
    if (!connected || !end_of(local, here) || !end_of(remote, there)) return found;
    const bool tcp = kind == SOCK_STREAM;
    found.address = (tcp ? "tcp " : "udp ") + text_of(there);
    if (tcp) found.inode = tcp_inode(there, here);
    return found;
}

}  // namespace gnomon::account
