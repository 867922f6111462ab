#include "account/scanner.hh"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>

namespace gnomon::account {

namespace {

constexpr int64_t young = 100'000'000, programs_pause = 100'000'000;  // ns
constexpr size_t asked_at_a_time = 32;
// Times what a scan took, before the next: less where new ones come.
constexpr int64_t rarer = 40, sooner = 10;

int64_t own_cpu_ns() {
    timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

std::string name_of(int pid, int tid) {
    std::string name = read_whole("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm");
    if (!name.empty() && name.back() == '\n') name.pop_back();
    return name;
}

void tell(Log& log, Kind kind, uint8_t flags, int pid, int tid, const std::string& text, int64_t now) {
    log.add(Moment{now, kind, flags, 0, pid, tid, log.texts().number(text), 0, 0});
}

}  // namespace

void introduce(People& people, Log& log, int pid, int tid, int parent, bool before, int64_t now) {
    Process& process = people.process(pid);
    const bool fresh = process.born == 0;
    if (fresh) {
        process.parent = parent;
        process.born = process.next_reading = now;
    }
    people.thread(pid, tid);
    const int maker = pid == tid ? parent : pid;
    log.add(Moment{now, Kind::fork, before, 0, pid, tid, -1, maker, maker});
    if (fresh) read_program(process, log, now);
    const std::string name = name_of(pid, tid);
    if (pid == tid) process.comm = name;
    if (!name.empty()) tell(log, Kind::comm, 0, pid, tid, name, now);
}

bool read_program(Process& process, Log& log, int64_t now) {
    const std::string exe = read_link("/proc/" + std::to_string(process.pid) + "/exe");
    if (exe.empty() || exe == process.exe) return false;
    process.exe = exe;
    tell(log, Kind::exe, 0, process.pid, process.pid, exe, now);
    return true;
}

// The kernel numbers threads and processes in one row, and tells the last number.
bool Scanner::made_since() {
    char text[128];
    size_t got = 0;
    if (read_small(last_fd_, "/proc/loadavg", text, sizeof text, got)) return true;
    const char* at = std::strrchr(text, ' ');
    uint64_t last = 0;
    if (!at || std::from_chars(at + 1, text + got, last).ec != std::errc{}) return true;
    const bool made = last != last_;
    last_ = last;
    return made;
}

void Scanner::scan(int64_t now, bool unrecorded_only) {
    look_for_programs(now, unrecorded_only);
    if (now < next_ || !made_since()) return;
    const int64_t before = own_cpu_ns();
    met_ = false;
    std::vector<int> known, children;
    for (const auto& [pid, process] : people_.processes())
        if (process.unrecorded || !unrecorded_only) known.push_back(pid);
    for (size_t i = 0; i < known.size(); ++i) {
        children.clear();
        Process* process = people_.find_process(known[i]);
        look_for_threads(*process, now, children);
        for (const int child : children) {
            if (people_.find_process(child)) continue;
            people_.process(child).unrecorded = unrecorded_only;
            introduce(people_, log_, child, child, known[i], false, now);
            known.push_back(child);
        }
    }
    const int64_t took = own_cpu_ns() - before;
    next_ = now + (met_ ? sooner : rarer) * took;
}

void Scanner::look_for_threads(Process& process, int64_t now, std::vector<int>& children) {
    const int pid = process.pid;
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    const std::vector<int> tids = numbers_in(folder);
    for (const int tid : tids)
        if (!people_.find(tid)) {
            introduce(people_, log_, pid, tid, process.parent, false, now);
            met_ = true;
        }
    // Each thread has its own children: of many threads, some are asked at a time.
    const size_t asked = std::min(tids.size(), asked_at_a_time);
    for (size_t i = 0; i < asked; ++i) {
        const int tid = tids[asked < tids.size() ? turn_++ % tids.size() : i];
        const std::string text = read_whole(folder + "/" + std::to_string(tid) + "/children");
        const char* end = text.data() + text.size();
        for (const char* at = text.data(); at < end;) {
            int child = 0;
            const auto [stop, error] = std::from_chars(at, end, child);
            if (error == std::errc{}) children.push_back(child);
            at = stop + 1;
        }
    }
}

void Scanner::look_for_programs(int64_t now, bool unrecorded_only) {
    const bool all = now >= next_programs_;
    if (all) next_programs_ = now + programs_pause;
    for (auto& [pid, process] : people_.processes()) {
        if (unrecorded_only && !process.unrecorded) continue;
        if (!all && now - process.born > young) continue;
        if (!read_program(process, log_, now)) continue;
        people_.exec(pid);
        process.maps_known = false;
        const std::string name = name_of(pid, pid);
        process.comm = name;
        tell(log_, Kind::comm, 1, pid, pid, name, now);
    }
}

}  // namespace gnomon::account
