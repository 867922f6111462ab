#include "frames/remote.hh"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace gnomon::frames {

namespace {

constexpr size_t page = 4096;

// 0, or errno. The file is small, and made anew at each read.
int read_line(const std::string& path, std::string& line) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    char buffer[512];
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    const int error = size < 0 ? errno : 0;
    ::close(fd);
    line.assign(buffer, size > 0 ? static_cast<size_t>(size) : 0);
    return error;
}

}  // namespace

size_t copy_stack(int pid, uint64_t start, size_t size, std::vector<uint8_t>& to) {
    to.resize(size);
    std::vector<RemotePart> parts;
    for (size_t done = 0; done < size;) {
        const size_t rest = std::min<size_t>(size - done, page - (start + done) % page);
        parts.push_back({start + done, to.data() + done, rest});
        done += rest;
    }
    to.resize(RemoteMemory(pid).read_parts(parts));
    return to.size();
}

bool RemoteMemory::read(uint64_t address, void* to, size_t size) const {
    iovec local{to, size};
    iovec remote{reinterpret_cast<void*>(address), size};
    return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

size_t RemoteMemory::read_parts(const std::vector<RemotePart>& parts) const {
    constexpr size_t most = 1024;  // IOV_MAX
    std::vector<iovec> local, remote;
    for (const RemotePart& each : parts) {
        if (local.size() == most) break;
        local.push_back({each.to, each.size});
        remote.push_back({reinterpret_cast<void*>(each.address), each.size});
    }
    const ssize_t got =
        process_vm_readv(pid_, local.data(), local.size(), remote.data(), remote.size(), 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
}

// "running", "-1 SP PC" outside of a system call, or "NUMBER ARGUMENTS SP PC".
bool parse_syscall(const std::string& line, WaitStack& wait) {
    std::vector<uint64_t> words;
    const char* at = line.c_str();
    char* end = nullptr;
    wait.call = std::strtoll(at, &end, 10);
    if (end == at) return false;
    for (at = end; words.size() < 9; at = end) {
        const uint64_t word = std::strtoull(at, &end, 16);
        if (end == at) break;
        words.push_back(word);
    }
    if (words.size() < 2) return false;
    wait.pc = words.back();
    wait.sp = words[words.size() - 2];
    words.resize(words.size() - 2);
    wait.arguments = std::move(words);
    return wait.sp != 0 && wait.pc != 0;  // zeros: of a thread of the kernel
}

WaitRead read_wait(const Space& space, int tid, WaitStack& wait) {
    const std::string path =
        "/proc/" + std::to_string(space.pid()) + "/task/" + std::to_string(tid) + "/syscall";
    const auto failed = [](int error) {
        return error == EACCES || error == EPERM ? WaitRead::refused : WaitRead::gone;
    };
    std::string before, after;
    if (const int error = read_line(path, before)) return failed(error);
    if (before.starts_with("running")) return WaitRead::running;
    if (!parse_syscall(before, wait)) return WaitRead::gone;
    for (const size_t size : {usual_copy, largest_copy}) {
        if (!copy_stack(space.pid(), wait.sp, size, wait.stack))
            return errno == EPERM ? WaitRead::refused : WaitRead::gone;
        if (const int error = read_line(path, after)) return failed(error);
        if (after != before) return WaitRead::moved;
        Registers registers;  // the others are in the kernel's stack
        registers.set(stack_register, wait.sp);
        registers.set(return_register, wait.pc);
        walk_stack(space, {wait.sp, Bytes(wait.stack)}, registers, {}, wait.walk);
        if (wait.walk.stop != Stop::truncated || wait.stack.size() < size) break;
    }
    return WaitRead::walked;
}

}  // namespace gnomon::frames
