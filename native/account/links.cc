#include "account/links.hh"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gnomon::account {

namespace {

// A link is looked up when it is first seen, and once more: its other end may be given to a child
// a moment later.
constexpr int lookups = 2;
constexpr int64_t again = 250'000'000, pause = 50'000'000;  // ns
constexpr size_t most_descriptors = 4096;                   // of a process

// "0100007F:1F90" of IPv4, 32 digits of IPv6.
std::string address_of(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view digits = text.substr(0, colon);
    unsigned port = 0;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
    uint32_t words[4] = {};
    const size_t count = digits.size() / 8;
    if ((count != 1 && count != 4) || digits.size() % 8) return {};
    for (size_t i = 0; i < count; ++i) {
        const char* at = digits.data() + 8 * i;
        if (std::from_chars(at, at + 8, words[i], 16).ptr != at + 8) return {};
    }
    char out[INET6_ADDRSTRLEN] = "";
    const bool mapped = count == 4 && !words[0] && !words[1] && words[2] == htonl(0xffff);
    if (count == 1 || mapped)
        inet_ntop(AF_INET, &words[mapped ? 3 : 0], out, sizeof out);
    else
        inet_ntop(AF_INET6, words, out, sizeof out);
    const std::string host = out;
    return (count == 4 && !mapped ? "[" + host + "]" : host) + ":" + std::to_string(port);
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

uint64_t inode_of(std::string_view link) {
    const size_t start = link.find('[');
    uint64_t inode = 0;
    if (start != std::string_view::npos)
        std::from_chars(link.data() + start + 1, link.data() + link.size(), inode);
    return inode;
}

}  // namespace

std::string descriptor(int pid, int fd) {
    std::string link = read_link("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd));
    return link.empty() ? "?" : link;
}

std::vector<int> epoll_targets(int pid, int fd) {
    const std::string text =
        read_whole("/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd));
    std::vector<int> found;
    for (size_t at = text.find("tfd:"); at != std::string::npos && found.size() < most_links;
         at = text.find("tfd:", at + 4)) {
        const size_t digits = text.find_first_of("0123456789", at);
        int number = 0;
        if (digits == std::string::npos) break;
        std::from_chars(text.data() + digits, text.data() + text.size(), number);
        found.push_back(number);
    }
    return found;
}

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

void Peers::look_up(int pid, const std::string& link, int64_t now) {
    const bool pipe = link.starts_with("pipe:");
    if (!pipe && !link.starts_with("socket:")) return;
    Seen& seen = seen_[link];
    if (seen.times >= lookups || now < seen.next) return;
    ++seen.times;
    seen.next = now + again;
    look_at_descriptors(now);
    if (pipe)
        look_up_pipe(link, now);
    else
        look_up_socket(pid, link, now);
}

// Of all processes at once: the links of the others will be asked for, too.
void Peers::look_at_descriptors(int64_t now) {
    if (now < next_descriptors_) return;
    next_descriptors_ = now + pause;
    for (const auto& [pid, process] : people_.processes()) {
        if (process.refused) continue;
        const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
        auto numbers = numbers_in(folder);
        if (numbers.size() > most_descriptors) numbers.resize(most_descriptors);
        for (const int number : numbers) {
            const std::string link = read_link(folder + "/" + std::to_string(number));
            if (link.starts_with("pipe:") || link.starts_with("socket:"))
                holders_[link].insert(pid);
        }
    }
}

void Peers::look_up_pipe(const std::string& link, int64_t now) {
    for (const int pid : holders_[link]) record(link, pid, inode_of(link), "", now);
}

void Peers::look_up_socket(int pid, const std::string& link, int64_t now) {
    const uint64_t inode = inode_of(link);
    read_tcp(pid, now);
    uint64_t other = 0;
    std::string address;
    if (const auto found = tcp_.find(inode); found != tcp_.end()) {
        address = "tcp " + found->second.remote;
        const auto end = tcp_ends_.find(found->second.remote + " " + found->second.local);
        if (end != tcp_ends_.end()) other = end->second;
    } else {
        std::string path;
        other = unix_peer(inode, path);
        if (other || !path.empty()) address = path.empty() ? "unix" : "unix " + path;
    }
    bool held = false;
    if (other) {
        const auto found = holders_.find("socket:[" + std::to_string(other) + "]");
        if (found != holders_.end())
            for (const int holder : found->second) {
                record(link, holder, other, address, now);
                held = true;
            }
    }
    if (!held && !address.empty()) record(link, 0, other, address, now);
}

void Peers::read_tcp(int pid, int64_t now) {
    if (now < next_tcp_) return;
    next_tcp_ = now + pause;
    tcp_.clear();
    tcp_ends_.clear();
    const std::string folder = "/proc/" + std::to_string(pid) + "/net/";
    for (const char* name : {"tcp", "tcp6"}) parse_tcp(read_whole(folder + name), tcp_);
    for (const auto& [inode, ends] : tcp_) tcp_ends_[ends.local + " " + ends.remote] = inode;
}

// The kernel tells the other end of a local socket by a question over netlink only.
uint64_t Peers::unix_peer(uint64_t inode, std::string& path) {
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return 0;
    struct {
        nlmsghdr header;
        unix_diag_req request;
    } question = {};
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.request.sdiag_family = AF_UNIX;
    question.request.udiag_states = ~0u;
    question.request.udiag_ino = static_cast<uint32_t>(inode);
    question.request.udiag_cookie[0] = question.request.udiag_cookie[1] = ~0u;
    question.request.udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_NAME;
    uint64_t other = 0;
    alignas(nlmsghdr) char answer[4096];
    const timeval limit{0, 20'000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t got = -1;
    if (send(fd, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question))
        got = recv(fd, answer, sizeof answer, 0);
    close(fd);
    const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
    if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(unix_diag_msg))) ||
        header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len > static_cast<size_t>(got))
        return 0;
    size_t at = NLMSG_LENGTH(sizeof(unix_diag_msg));
    while (at + sizeof(nlattr) <= header->nlmsg_len) {
        nlattr attribute;
        std::memcpy(&attribute, answer + at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || at + attribute.nla_len > header->nlmsg_len) break;
        const char* content = answer + at + sizeof attribute;
        const size_t size = attribute.nla_len - sizeof attribute;
        if (attribute.nla_type == UNIX_DIAG_PEER && size >= sizeof(uint32_t)) {
            uint32_t number;
            std::memcpy(&number, content, sizeof number);
            other = number;
        } else if (attribute.nla_type == UNIX_DIAG_NAME && size > 0) {
            path.assign(content, strnlen(content, size));
            if (content[0] == '\0') path = "@" + std::string(content + 1, strnlen(content + 1, size - 1));
        }
        at += NLA_ALIGN(attribute.nla_len);
    }
    return other;
}

void Peers::record(const std::string& link, int pid, uint64_t inode, const std::string& address,
                   int64_t now) {
    Moment made{now, Kind::peer, 0, 0, pid, 0, log_.texts().number(link), static_cast<int64_t>(inode), -1};
    if (!address.empty()) made.b = log_.texts().number(address);
    log_.add(made);
}

}  // namespace gnomon::account
