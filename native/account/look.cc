#include "account/look.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "account/async_io.hh"
#include "perf/event.hh"

namespace gnomon::account {

namespace {

// Older calls, which newer processors' kernels do not have.
#ifdef SYS_poll
constexpr int64_t call_poll = SYS_poll, call_select = SYS_select, call_epoll = SYS_epoll_wait;
#else
constexpr int64_t call_poll = -1001, call_select = -1002, call_epoll = -1003;
#endif

constexpr int64_t region_pause = 100'000'000;  // ns before data mappings are read again

int64_t now_ns() { return static_cast<int64_t>(monotonic_ns()); }

// How far CLOCK_REALTIME is from CLOCK_MONOTONIC.
int64_t real_offset() {
    timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    return real.tv_sec * 1'000'000'000 + real.tv_nsec - now_ns();
}

int64_t ns_of(const int64_t time[2]) { return time[0] * 1'000'000'000 + time[1]; }

// System calls whose first argument is the descriptor that they wait for.
bool waits_for_descriptor(int64_t nr) {
    switch (nr) {
        case SYS_read: case SYS_write: case SYS_pread64: case SYS_pwrite64: case SYS_readv:
        case SYS_writev: case SYS_preadv: case SYS_pwritev: case SYS_preadv2: case SYS_pwritev2:
        case SYS_sendfile: case SYS_splice: case SYS_tee: case SYS_vmsplice:
        case SYS_connect: case SYS_accept: case SYS_accept4: case SYS_sendto: case SYS_recvfrom:
        case SYS_sendmsg: case SYS_recvmsg: case SYS_sendmmsg: case SYS_recvmmsg:
        case SYS_fsync: case SYS_fdatasync: case SYS_sync_file_range: case SYS_syncfs:
        case SYS_fallocate: case SYS_ftruncate: case SYS_flock: case SYS_fcntl: case SYS_ioctl:
        case SYS_getdents64: case SYS_copy_file_range: return true;
        default: return false;
    }
}

}  // namespace

Seen Looker::look(Thread& thread, int64_t time) {
    CallState state{};
    Call call;
    const int error = people_.call(thread, state, call);
    if (error) return error == EACCES || error == EPERM ? Seen::refused : Seen::gone;
    if (state == CallState::runs) return Seen::running;
    const std::string channel = people_.channel(thread);
    const bool waits = !channel.empty() && channel != "0";
    if (state == CallState::kernel_thread && !waits) return Seen::running;  // or it ends
    ++looks_;
    Wait wait{};
    wait.wchan = wait.links = wait.place = wait.stack = wait.holder_stack = -1;
    wait.timeout = -1;
    if (waits) wait.wchan = log_.texts().number(channel);
    bool moved = false;
    if (state == CallState::kernel_thread) {
        wait.nr = in_worker;
        thread.worker = true;
    } else {
        wait.nr = static_cast<int32_t>(call.number);
        std::copy(call.args, call.args + 4, wait.args);
        wait.pc = call.pc;
        wait.sp = call.sp;
        describe(thread, call, wait, time);
        wait.stack = stack(thread, call, wait.ending, time);
        CallState later{};
        Call again;
        moved = people_.call(thread, later, again) != 0 || later != state || !(again == call);
        if (moved) wait.stack = -1;  // it may be of a later moment
    }
    wait.took = static_cast<int32_t>(std::min<int64_t>(now_ns() - time, INT32_MAX));
    const int32_t row = log_.add(wait);
    if (row >= 0)
        log_.add(Moment{time, Kind::wait, static_cast<uint8_t>(moved), 0, thread.pid, thread.tid, row, 0, 0});
    return Seen::waiting;
}

void Looker::describe(const Thread& thread, const Call& call, Wait& wait, int64_t time) {
    const uint64_t* args = call.args;
    const frames::RemoteMemory memory(thread.pid);
    int64_t span[2] = {-1, -1};
    if (waits_for_descriptor(call.number)) {
        name_links(thread, {static_cast<int>(args[0])}, wait, time);
        return;
    }
    switch (call.number) {
        case SYS_futex: describe_futex(thread, call, wait, time); break;
        case call_poll:
        case SYS_ppoll: describe_poll(thread, call, wait); break;
        case call_select:
        case SYS_pselect6: describe_select(thread, call, wait); break;
        case call_epoll:
        case SYS_epoll_pwait:
            if (static_cast<int32_t>(args[3]) >= 0) {
                wait.timeout = int64_t{static_cast<int32_t>(args[3])} * 1'000'000;
                wait.timed = Timed::length;
            }
            name_links(thread, epoll_targets(thread.pid, static_cast<int>(args[0])), wait, time);
            break;
        case SYS_nanosleep:
            if (memory.read(args[0], span, sizeof span)) {
                wait.timeout = ns_of(span);
                wait.timed = Timed::length;
            }
            break;
        case SYS_clock_nanosleep:
            if (memory.read(args[2], span, sizeof span)) {
                const bool absolute = args[1] & TIMER_ABSTIME;
                wait.timeout = ns_of(span) - (absolute && args[0] == CLOCK_REALTIME ? real_offset() : 0);
                wait.timed = absolute ? Timed::at : Timed::length;
            }
            break;
        case SYS_io_uring_enter:
            name_links(thread, uring_descriptors(thread.pid, static_cast<int>(args[0])), wait, time);
            break;
        case SYS_io_getevents:
        case SYS_io_pgetevents:
            name_links(thread, aio_descriptors(thread.pid, args[0]), wait, time);
            break;
        default: break;
    }
}

void Looker::describe_futex(const Thread& thread, const Call& call, Wait& wait, int64_t time) {
    const frames::RemoteMemory memory(thread.pid);
    const uint64_t* args = call.args;
    const bool readable = memory.read(args[0], wait.words, sizeof wait.words);
    const auto operation = static_cast<uint32_t>(args[1]);
    const uint32_t command = operation & FUTEX_CMD_MASK;
    int64_t span[2];
    if (args[3] && memory.read(args[3], span, sizeof span)) {
        wait.timeout = ns_of(span);
        wait.timed = Timed::length;
        if (command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI) {
            wait.timed = Timed::at;
            if (operation & FUTEX_CLOCK_REALTIME || command == FUTEX_LOCK_PI)
                wait.timeout -= real_offset();
        }
    }
    if (Process* process = people_.find_process(thread.pid)) wait.place = place(*process, args[0], time);
    if (!readable) return;
    // glibc: a mutex that others wait for has 2 in its first word and its owner in the third; who
    // joins a thread waits for the word that has its number, and that the kernel clears.
    if (command == FUTEX_WAIT && wait.words[0] == 2 && live(thread, wait.words[2]))
        wait.holder = static_cast<int32_t>(wait.words[2]);
    else if (command == FUTEX_WAIT_BITSET && !(operation & FUTEX_PRIVATE_FLAG) &&
             live(thread, wait.words[0]))
        wait.holder = static_cast<int32_t>(wait.words[0]);
    else if (command == FUTEX_LOCK_PI && live(thread, wait.words[0] & FUTEX_TID_MASK))
        wait.holder = static_cast<int32_t>(wait.words[0] & FUTEX_TID_MASK);
    Thread* holder = wait.holder ? people_.find(wait.holder) : nullptr;
    CallState state{};
    Call its;
    if (holder && people_.call(*holder, state, its) == 0 && state == CallState::waits) {
        uint8_t ending = 0;
        wait.holder_stack = stack(*holder, its, ending, time);
    }
}

// One that has just begun may be known to the kernel alone.
bool Looker::live(const Thread& of, uint32_t tid) {
    if (tid == 0 || static_cast<int>(tid) == of.tid) return false;
    const Thread* found = people_.find(static_cast<int>(tid));
    if (found) return found->pid == of.pid;
    const std::string folder = "/proc/" + std::to_string(of.pid) + "/task/" + std::to_string(tid);
    return access(folder.c_str(), F_OK) == 0;
}

void Looker::describe_poll(const Thread& thread, const Call& call, Wait& wait) {
    const frames::RemoteMemory memory(thread.pid);
    const uint64_t* args = call.args;
    std::vector<pollfd> watched(std::min<uint64_t>(args[1], most_links));
    std::vector<int> descriptors;
    if (!watched.empty() && memory.read(args[0], watched.data(), watched.size() * sizeof(pollfd)))
        for (const pollfd& each : watched)
            if (each.fd >= 0) descriptors.push_back(each.fd);
    int64_t span[2];
    if (call.number == call_poll && static_cast<int32_t>(args[2]) >= 0) {
        wait.timeout = int64_t{static_cast<int32_t>(args[2])} * 1'000'000;
        wait.timed = Timed::length;
    } else if (call.number == SYS_ppoll && args[2] && memory.read(args[2], span, sizeof span)) {
        wait.timeout = ns_of(span);
        wait.timed = Timed::length;
    }
    name_links(thread, descriptors, wait, now_ns());
}

void Looker::describe_select(const Thread& thread, const Call& call, Wait& wait) {
    const frames::RemoteMemory memory(thread.pid);
    const uint64_t* args = call.args;
    const uint64_t count = std::min<uint64_t>(args[0], 1024);
    std::vector<int> descriptors;
    for (int set = 1; set <= 3; ++set) {
        uint64_t bits[16] = {};
        const size_t bytes = (count + 63) / 64 * 8;
        if (!args[set] || !bytes || !memory.read(args[set], bits, bytes)) continue;
        for (uint64_t fd = 0; fd < count && descriptors.size() < most_links; ++fd)
            if (bits[fd / 64] >> fd % 64 & 1) descriptors.push_back(static_cast<int>(fd));
    }
    int64_t span[2];
    if (args[4] && memory.read(args[4], span, sizeof span)) {
        wait.timeout = call.number == call_select ? span[0] * 1'000'000'000 + span[1] * 1000 : ns_of(span);
        wait.timed = Timed::length;
    }
    name_links(thread, descriptors, wait, now_ns());
}

void Looker::name_links(const Thread& thread, const std::vector<int>& descriptors, Wait& wait,
                        int64_t time) {
    std::string text;
    for (const int fd : descriptors) {
        const std::string link = descriptor(thread.pid, fd);
        if (!text.empty()) text += ' ';
        text += escaped(link);
        peers_.look_up(thread.pid, fd, link, time);
    }
    if (!text.empty()) wait.links = log_.texts().number(text);
}

int32_t Looker::stack(Thread& thread, const Call& call, uint8_t& ending, int64_t now) {
    Process* process = people_.find_process(thread.pid);
    if (!process || process->refused) return -1;
    frames::Space& space = people_.space(*process);
    for (const size_t size : {frames::usual_copy, frames::largest_copy}) {
        if (!frames::copy_stack(thread.pid, call.sp, size, copy_)) return -1;
        frames::Registers registers;  // the others are in the kernel's stack
        registers.set(frames::stack_register, call.sp);
        registers.set(frames::return_register, call.pc);
        frames::walk_stack(space, {call.sp, frames::Bytes(copy_)}, registers, {}, walk_);
        if (walk_.stop != frames::Stop::truncated || copy_.size() < size) break;
    }
    ending = static_cast<uint8_t>(walk_.stop);
    frames::StackTable& table = library_->stacks();
    numbers_.clear();
    for (const frames::Step& step : walk_.steps) numbers_.push_back(step.frame);
    if (frames::PythonReader* reader = people_.python(*process, now)) {
        python_.clear();
        const auto status = reader->read(thread.tid, python_);
        if (status == frames::PythonRead::whole || status == frames::PythonRead::outer)
            frames::merge_python(walk_, {call.sp, frames::Bytes(copy_)}, python_, nullptr, table, numbers_);
    }
    return static_cast<int32_t>(table.stack(numbers_));
}

// In whose data an address lies; zeroed data of a file follows what is mapped of it.
int32_t Looker::place(Process& process, uint64_t address, int64_t now) {
    Regions& known = regions_[process.pid];
    const auto find = [&]() -> const Region* {
        for (const Region& each : known.all)
            if (address >= each.start && address < each.end) return &each;
        return nullptr;
    };
    const Region* found = find();
    if (!found && now >= known.next) {
        known.next = now + region_pause;
        known.all.clear();
        const std::string maps = read_whole("/proc/" + std::to_string(process.pid) + "/maps");
        Region before{};
        for (size_t start = 0; start < maps.size();) {
            const size_t stop = std::min(maps.find('\n', start), maps.size());
            const std::string line = maps.substr(start, stop - start);
            start = stop + 1;
            unsigned long long from, to, offset;
            int at = 0;
            if (std::sscanf(line.c_str(), "%llx-%llx %*s %llx %*s %*s %n", &from, &to, &offset, &at) != 3 || !at)
                continue;
            Region made{from, to, line.substr(static_cast<size_t>(at)), from - offset};
            const bool follows = made.name.empty() && before.end == from && before.name.starts_with('/');
            if (follows) made = {from, to, before.name, before.bias};
            if (made.name.starts_with('/')) {
                // The lowest mapping of a file has its first byte: addresses are counted from there.
                if (!follows && before.name == made.name) made.bias = before.bias;
                else if (!follows) made.bias = from - offset;
            }
            before = made;
            if (!made.name.empty()) known.all.push_back(made);
        }
        found = find();
    }
    if (!found) return -1;
    if (!found->name.starts_with('/')) return log_.texts().number(found->name);
    char text[32];
    std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(address - found->bias));
    return log_.texts().number(found->name + text);
}

}  // namespace gnomon::account
