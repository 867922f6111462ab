#include "account/links.hh"

#include <algorithm>
#include <charconv>

#include "perf/event.hh"

namespace gnomon::account {

namespace {

// A link is looked up when it is first seen, and once more: its other end may be given to a child
// a moment later.
constexpr int lookups = 2;
constexpr int64_t again = 250'000'000, pause = 50'000'000;  // ns
constexpr size_t most_descriptors = 4096;  // of a process
constexpr int64_t rarer = 100;             // times what a table took, before it is read again

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

void Peers::look_up(int pid, int fd, const std::string& link, int64_t now) {
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
        look_up_socket(pid, fd, link, now);
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

void Peers::look_up_socket(int pid, int fd, const std::string& link, int64_t now) {
    const uint64_t inode = inode_of(link);
    OtherEnd other = other_end(pid, fd, inode);
    if (!other.known) other = in_table(pid, inode, now);
    bool held = false;
    if (other.inode) {
        const auto found = holders_.find("socket:[" + std::to_string(other.inode) + "]");
        if (found != holders_.end())
            for (const int holder : found->second) {
                record(link, holder, other.inode, other.address, now);
                held = true;
            }
    }
    if (!held && !other.address.empty()) record(link, 0, other.inode, other.address, now);
}

// Where descriptors may not be borrowed, TCP has a table, which takes milliseconds to read.
OtherEnd Peers::in_table(int pid, uint64_t inode, int64_t now) {
    read_tcp(pid, now);
    OtherEnd other;
    const auto found = tcp_.find(inode);
    if (found == tcp_.end()) return other;
    other.address = "tcp " + found->second.remote;
    const auto end = tcp_ends_.find(found->second.remote + " " + found->second.local);
    if (end != tcp_ends_.end()) other.inode = end->second;
    return other;
}

void Peers::read_tcp(int pid, int64_t now) {
    if (now < next_tcp_) return;
    tcp_.clear();
    tcp_ends_.clear();
    const std::string folder = "/proc/" + std::to_string(pid) + "/net/";
    for (const char* name : {"tcp", "tcp6"}) parse_tcp(read_whole(folder + name), tcp_);
    for (const auto& [inode, ends] : tcp_) tcp_ends_[ends.local + " " + ends.remote] = inode;
    next_tcp_ = now + rarer * (static_cast<int64_t>(monotonic_ns()) - now) + pause;
}

void Peers::record(const std::string& link, int pid, uint64_t inode, const std::string& address,
                   int64_t now) {
    Moment made{now, Kind::peer, 0, 0, pid, 0, log_.texts().number(link), static_cast<int64_t>(inode), -1};
    if (!address.empty()) made.b = log_.texts().number(address);
    log_.add(made);
}

}  // namespace gnomon::account
