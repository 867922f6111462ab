#include "account/resources.hh"

#include <algorithm>
#include <unistd.h>

namespace gnomon::account {

namespace {

constexpr int64_t system_pause = 50'000'000;                     // ns
constexpr int64_t too_short = 2'000'000;  // age of a process that is not worth a reading
constexpr int64_t first_pause = 5'000'000, last_pause = 250'000'000;

}  // namespace

Resources::Resources(Log& log, std::vector<int> cpus, std::vector<std::string> quotas)
    : log_(log),
      cpus_(std::move(cpus)),
      quotas_(std::move(quotas)),
      quota_fds_(quotas_.size(), -1),
      buffer_(65536, '\0'),
      tick_ns_(1'000'000'000 / static_cast<uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)))) {}

Resources::~Resources() {
    if (stat_fd_ >= 0) close(stat_fd_);
    for (const int fd : quota_fds_)
        if (fd >= 0) close(fd);
}

void Resources::read_system(int64_t now, bool due) {
    if (!due && now < next_system_) return;
    next_system_ = now + system_pause;
    size_t got = 0;
    if (read_small(stat_fd_, "/proc/stat", buffer_.data(), buffer_.size(), got) == 0) {
        const Idle idle = parse_idle({buffer_.data(), got}, cpus_, tick_ns_);
        log_.add(Moment{now, Kind::idle, 0, 0, 0, 0, -1, static_cast<int64_t>(idle.idle),
                        static_cast<int64_t>(idle.stolen)});
    }
    read_quotas(now);
}

void Resources::read_quotas(int64_t now) {
    uint64_t ns = 0, periods = 0;
    bool any = false;
    for (size_t i = 0; i < quotas_.size(); ++i) {
        char text[1024];
        size_t got = 0;
        if (read_small(quota_fds_[i], quotas_[i].c_str(), text, sizeof text, got)) continue;
        const std::string_view all(text, got);
        const auto us = field_of(all, "throttled_usec");  // cgroup v2
        const auto time = us ? std::optional(*us * 1000) : field_of(all, "throttled_time");
        if (!time) continue;
        any = true;
        ns += *time;
        periods += field_of(all, "nr_throttled").value_or(0);
    }
    if (any)
        log_.add(Moment{now, Kind::quota, 0, 0, 0, 0, -1, static_cast<int64_t>(ns),
                        static_cast<int64_t>(periods)});
}

void Resources::read_process(Process& process, int64_t now) {
    if (now < process.next_reading || process.ended) return;
    process.next_reading =
        now + std::clamp((now - process.born) / 8, first_pause, last_pause);
    const std::string folder = "/proc/" + std::to_string(process.pid) + "/";
    char text[4096];
    size_t got = 0;
    if (read_once((folder + "status").c_str(), text, sizeof text, got) == 0)
        if (const auto peak = field_of({text, got}, "VmHWM:")) {
            const auto bytes = static_cast<int64_t>(*peak * 1024);
            if (bytes != process.peak)
                log_.add(Moment{now, Kind::peak, 0, 0, process.pid, process.pid, -1, bytes, 0});
            process.peak = bytes;
        }
    if (read_once((folder + "io").c_str(), text, sizeof text, got) == 0) {
        const auto in = static_cast<int64_t>(field_of({text, got}, "read_bytes:").value_or(0));
        const auto out = static_cast<int64_t>(field_of({text, got}, "write_bytes:").value_or(0));
        if (in != process.bytes_read || out != process.bytes_written)
            log_.add(Moment{now, Kind::io, 0, 0, process.pid, process.pid, -1, in, out});
        process.bytes_read = in;
        process.bytes_written = out;
    }
}

void Resources::read_processes(People& people, int64_t now) {
    for (auto& [pid, process] : people.processes())
        if (now - process.born > too_short) read_process(process, now);
}

}  // namespace gnomon::account
