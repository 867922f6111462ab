#include "stress/pages.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace gnomon::stress {

namespace {

constexpr size_t huge_size = size_t{2} << 20;
constexpr int bind_policy = 2;  // MPOL_BIND of linux/mempolicy.h, which not every system has
constexpr int most_nodes = 1024;

size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

[[noreturn]] void fail(int error, const char* what) {
    throw std::system_error(error, std::generic_category(), what);
}

size_t base_page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Pages::Pages(size_t size, int node, bool huge) : size_(size) {
    if (size == 0) fail(EINVAL, "no memory asked for");
    if (node >= most_nodes) fail(EINVAL, "no such node");
    if (huge && map_reserved(node)) return;
    map_anonymous(node, huge);
}

Pages::~Pages() { release(); }

void Pages::release() {
    if (mapping_) munmap(mapping_, mapped_);
    mapping_ = data_ = nullptr;
}

bool Pages::map_reserved(int node) {
    mapped_ = rounded(size_, huge_size);
    constexpr int two_megabytes = 21 << 26;  // MAP_HUGE_2MB
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | two_megabytes, -1, 0);
    if (at == MAP_FAILED) {
        why_not_ = "no 2 MB pages are reserved";
        return false;
    }
    mapping_ = data_ = static_cast<std::byte*>(at);
    if (int error = bind(node)) {
        release();
        fail(error, "mbind");
    }
    // The pool may be empty on this node: touching would end the process where this reports.
    if (madvise(mapping_, mapped_, MADV_POPULATE_WRITE) < 0) {
        why_not_ = "too few 2 MB pages are reserved";
        release();
        return false;
    }
    kind_ = PageKind::reserved;
    return true;
}

void Pages::map_anonymous(int node, bool huge) {
    const size_t page = base_page();
    // A huge page is made only where the mapping has room for a whole one, and begins aligned.
    mapped_ = huge ? rounded(size_, huge_size) + huge_size : rounded(size_, page);
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fail(errno, "mmap");
    mapping_ = data_ = static_cast<std::byte*>(at);
    if (huge) {
        const size_t over = reinterpret_cast<uintptr_t>(at) % huge_size;
        if (over) data_ += huge_size - over;
        if (madvise(mapping_, mapped_, MADV_HUGEPAGE) == 0)
            kind_ = PageKind::transparent;
        else
            why_not_ += std::string(", and the kernel makes none: ") + std::strerror(errno);
    } else {
        madvise(mapping_, mapped_, MADV_NOHUGEPAGE);  // a kernel that refuses makes none anyway
    }
    int error = bind(node);
    const char* what = error ? "mbind" : "populate";
    if (!error) error = populate();
    if (error) {
        release();
        fail(error, what);
    }
}

int Pages::bind(int node) const {
    if (node < 0) return 0;
    unsigned long mask[most_nodes / (8 * sizeof(unsigned long))] = {};
    constexpr size_t bits = 8 * sizeof(unsigned long);
    mask[static_cast<size_t>(node) / bits] = 1UL << (static_cast<size_t>(node) % bits);
    // The kernel takes one bit less than it is told.
    if (syscall(SYS_mbind, mapping_, mapped_, bind_policy, mask, most_nodes + 1UL, 0U) < 0)
        return errno;
    return 0;
}

int Pages::populate() const {
    const size_t page = base_page(), length = rounded(size_, page);
    if (madvise(data_, length, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno != EINVAL) return errno;
    for (size_t at = 0; at < length; at += page)  // kernels before 5.14
        reinterpret_cast<volatile std::byte*>(data_)[at] = std::byte{0};
    return 0;
}

std::map<int, size_t> Pages::placement() const {
    if (!data_) fail(EINVAL, "the memory was released");
    constexpr size_t at_once = 4096;
    const size_t page = base_page(), count = rounded(size_, page) / page;
    std::map<int, size_t> found;
    std::vector<void*> addresses;
    std::vector<int> nodes(at_once);
    for (size_t first = 0; first < count; first += at_once) {
        addresses.clear();
        for (size_t i = first; i < std::min(first + at_once, count); ++i)
            addresses.push_back(data_ + i * page);
        if (syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, nodes.data(),
                    0) < 0)
            fail(errno, "move_pages");
        for (size_t i = 0; i < addresses.size(); ++i) ++found[nodes[i]];
    }
    return found;
}

}  // namespace gnomon::stress
