#include "account/people.hh"

#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace gnomon::account {

namespace {

constexpr int64_t python_pause = 100'000'000;  // ns before an interpreter is looked for again
constexpr size_t most_pending = 4096;

}  // namespace

People::~People() { forget_all(); }

void People::forget_all() {
    for (auto& [tid, thread] : threads_) close_files(thread);
    threads_.clear();
    processes_.clear();
}

Thread& People::thread(int pid, int tid) {
    const auto [found, added] = threads_.try_emplace(tid);
    Thread& thread = found->second;
    if (added || thread.pid != pid) {
        if (!added) close_files(thread);
        thread = {};
        thread.pid = pid;
        thread.tid = tid;
        thread.unrecorded = process(pid).unrecorded;
    }
    return thread;
}

Process& People::process(int pid) {
    const auto [found, added] = processes_.try_emplace(pid);
    if (added) found->second.pid = pid;
    return found->second;
}

void People::fork(int pid, int parent, int64_t time) {
    Process made;
    made.pid = pid;
    made.parent = parent;
    made.born = made.next_reading = time;
    if (Process* from = find_process(parent)) {
        made.comm = from->comm;
        made.exe = from->exe;
        made.maps_known = from->maps_known;
        made.pending = from->pending;
        made.maybe_python = from->maybe_python;
        made.unrecorded = from->unrecorded;
        if (from->space) {
            made.space = std::make_unique<frames::Space>(library_, pid);
            made.space->take(*from->space);
        }
    }
    processes_.insert_or_assign(pid, std::move(made));
}

void People::exec(int pid) {
    Process& changed = process(pid);
    changed.space.reset();
    changed.python.reset();
    changed.pending.clear();
    changed.maybe_python = changed.refused = false;
    changed.maps_known = true;  // records follow
    changed.peak = -1;
    changed.next_python = 0;
}

void People::map(int pid, frames::MapRequest request) {
    Process& changed = process(pid);
    if (request.path.find("python") != std::string::npos) {
        changed.maybe_python = true;
        changed.next_python = 0;
    }
    changed.pending.push_back(std::move(request));
    if (changed.pending.size() > most_pending) space(changed);
}

void People::forget(int tid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return;
    close_files(found->second);
    threads_.erase(found);
}

void People::close_files(Thread& thread) {
    for (int* fd : {&thread.schedule_fd, &thread.call_fd, &thread.channel_fd}) {
        if (*fd < 0) continue;
        close(*fd);
        *fd = -1;
        ++descriptors_left_;
    }
}

frames::Space& People::space(Process& process) {
    if (!process.space) process.space = std::make_unique<frames::Space>(library_, process.pid);
    if (!process.maps_known) {
        process.maps_known = true;
        process.space->refresh();
    }
    for (const frames::MapRequest& each : process.pending) process.space->map(each);
    process.pending.clear();
    return *process.space;
}

void People::refresh(Process& process) {
    process.maps_known = true;
    process.pending.clear();
    frames::Space& known = space(process);
    known.refresh();
    for (const frames::Mapping& each : known.mappings())
        if (library_->objects()[each.object].path.find("python") != std::string::npos)
            process.maybe_python = true;
}

frames::PythonReader* People::python(Process& process, int64_t now) {
    if (process.python || !process.maybe_python || now < process.next_python)
        return process.python.get();
    process.next_python = now + python_pause;
    std::string why;
    process.python = frames::PythonReader::find(space(process), *functions_, why);
    return process.python.get();
}

int People::read(const Thread& thread, int& fd, const char* name, char* buffer, size_t size,
                 size_t& got) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/%s", thread.pid, thread.tid, name);
    if (fd < 0 && descriptors_left_ == 0) return read_once(path, buffer, size, got);
    const bool fresh = fd < 0;
    const int error = read_small(fd, path, buffer, size, got);
    if (fresh && fd >= 0) --descriptors_left_;
    return error;
}

int People::schedule(Thread& thread, Schedule& schedule) {
    char buffer[128];
    size_t got = 0;
    if (const int error = read(thread, thread.schedule_fd, "schedstat", buffer, sizeof buffer, got))
        return error;
    const auto found = parse_schedstat({buffer, got});
    if (!found) return ESRCH;
    schedule = *found;
    return 0;
}

int People::call(Thread& thread, CallState& state, Call& call) {
    char buffer[512];
    size_t got = 0;
    if (const int error = read(thread, thread.call_fd, "syscall", buffer, sizeof buffer, got))
        return error;
    state = parse_call({buffer, got}, call);
    return state == CallState::malformed ? ESRCH : 0;
}

std::string People::channel(Thread& thread) {
    char buffer[128];
    size_t got = 0;
    if (read(thread, thread.channel_fd, "wchan", buffer, sizeof buffer, got)) return {};
    return {buffer, got};
}

}  // namespace gnomon::account
