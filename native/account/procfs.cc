#include "account/procfs.hh"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace gnomon::account {

namespace {

// Numbers of a line, one after the other.
class Words {
  public:
    explicit Words(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}
    bool next(uint64_t& value, int base = 10) {
        while (at_ < end_ && *at_ == ' ') ++at_;
        if (base == 16 && end_ - at_ > 2 && at_[0] == '0' && at_[1] == 'x') at_ += 2;
        const auto [stop, error] = std::from_chars(at_, end_, value, base);
        at_ = stop;
        return error == std::errc{};
    }

  private:
    const char* at_;
    const char* end_;
};

}  // namespace

int read_small(int& fd, const char* path, char* buffer, size_t size, size_t& got) {
    if (fd < 0) fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    const ssize_t found = pread(fd, buffer, size - 1, 0);
    if (found < 0) return errno;
    got = static_cast<size_t>(found);
    buffer[got] = '\0';
    return 0;
}

int read_once(const char* path, char* buffer, size_t size, size_t& got) {
    int fd = -1;
    const int error = read_small(fd, path, buffer, size, got);
    if (fd >= 0) close(fd);
    return error;
}

std::string read_whole(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    std::string text;
    char buffer[16384];
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<size_t>(got));
    close(fd);
    return text;
}

std::string read_link(const std::string& path) {
    char buffer[PATH_MAX];
    const ssize_t got = readlink(path.c_str(), buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

std::vector<int> numbers_in(const std::string& folder) {
    std::vector<int> found;
    DIR* opened = opendir(folder.c_str());
    if (!opened) return found;
    while (const dirent* entry = readdir(opened))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            found.push_back(std::atoi(entry->d_name));
    closedir(opened);
    return found;
}

std::optional<Schedule> parse_schedstat(std::string_view text) {
    Words words(text);
    Schedule found;
    if (words.next(found.on) && words.next(found.delay) && words.next(found.slices)) return found;
    return std::nullopt;
}

CallState parse_call(std::string_view text, Call& call) {
    call = {};
    if (text.starts_with("running")) return CallState::runs;
    const bool outside = text.starts_with("-1");
    Words words(outside ? text.substr(2) : text);
    uint64_t number = 0;
    if (outside) {
        call.number = -1;
    } else {
        if (!words.next(number)) return CallState::malformed;
        call.number = static_cast<int64_t>(number);
        for (uint64_t& each : call.args)
            if (!words.next(each, 16)) return CallState::malformed;
    }
    if (!words.next(call.sp, 16) || !words.next(call.pc, 16)) return CallState::malformed;
    return call.sp && call.pc ? CallState::waits : CallState::kernel_thread;
}

Idle parse_idle(std::string_view text, const std::vector<int>& cpus, uint64_t tick_ns) {
    Idle found;
    for (size_t start = 0; start < text.size() && text.substr(start).starts_with("cpu");) {
        const size_t stop = std::min(text.find('\n', start), text.size());
        const std::string_view line = text.substr(start, stop - start);
        start = stop + 1;
        const bool total = line.starts_with("cpu ");
        if (total != cpus.empty()) continue;
        if (!total) {
            uint64_t number = 0;
            if (!Words(line.substr(3)).next(number)) continue;
            if (std::find(cpus.begin(), cpus.end(), static_cast<int>(number)) == cpus.end()) continue;
        }
        // user nice system idle iowait irq softirq steal
        Words words(line.substr(std::min(line.find(' '), line.size())));
        uint64_t fields[8] = {};
        for (uint64_t& each : fields)
            if (!words.next(each)) break;
        found.idle += (fields[3] + fields[4]) * tick_ns;
        found.stolen += fields[7] * tick_ns;
    }
    return found;
}

std::optional<uint64_t> field_of(std::string_view text, std::string_view name) {
    for (size_t start = 0; start < text.size();) {
        const size_t stop = std::min(text.find('\n', start), text.size());
        const std::string_view line = text.substr(start, stop - start);
        start = stop + 1;
        if (!line.starts_with(name)) continue;
        const size_t digits = line.find_first_of("0123456789", name.size());
        if (digits == std::string_view::npos) continue;
        uint64_t value = 0;
        if (Words(line.substr(digits)).next(value)) return value;
    }
    return std::nullopt;
}

std::string escaped(std::string_view name) {
    std::string out;
    for (const char each : name) {
        switch (each) {
            case ' ': out += "\\040"; break;
            case '\t': out += "\\011"; break;
            case '\n': out += "\\012"; break;
            case '\\': out += "\\134"; break;
            default: out += each;
        }
    }
    return out;
}

}  // namespace gnomon::account
