#include "pages/tracker.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <memory>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace gnomon::pages {

namespace {

// What headers older than Linux 6.7 do not know; the numbers are the kernel's interface.
constexpr uint64_t wp_async = uint64_t{1} << 15;
struct ScanRegion {
    uint64_t start, end, categories;
};
struct ScanArguments {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t protects_matching = 1;
constexpr uint64_t is_written = 2, is_file = 4, is_present = 8, is_swapped = 16, is_zero = 32;

[[noreturn]] void fail(int error, const char* what) {
    throw std::system_error(error, std::generic_category(), what);
}

int agree(int uffd) {
    uffdio_api api = {};
    api.api = UFFD_API;
    api.features = wp_async;
    return ioctl(uffd, UFFDIO_API, &api) < 0 ? errno : 0;
}

}  // namespace

Tracker::Tracker(pid_t pid, int userfaultfd) : pid_(pid), uffd_(userfaultfd) {
    int error = agree(uffd_);
    if (!error) {
        const std::string path = "/proc/" + std::to_string(pid) + "/pagemap";
        pagemap_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (pagemap_ < 0) error = errno;
    }
    if (!error) return;
    close(uffd_);
    fail(error, "page tracking");
}

Tracker::~Tracker() {
    close(uffd_);
    close(pagemap_);
}

bool Tracker::read_maps(std::vector<Mapping>& mappings) {
    const std::string path = "/proc/" + std::to_string(pid_) + "/maps";
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen(path.c_str(), "re"), std::fclose);
    if (!maps) return false;
    char line[4608];
    while (std::fgets(line, sizeof line, maps.get())) {
        unsigned long start = 0, end = 0;
        char rights[5] = {};
        if (std::sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3) continue;
        const bool device = std::strstr(line, " /dev/") && !std::strstr(line, " /dev/shm/") &&
                            !std::strstr(line, " /dev/zero");
        if (rights[1] != 'w' || device || std::strstr(line, "[vvar")) continue;
        mappings.push_back({start, end, rights[3] == 's'});
    }
    return true;
}

// Registers what is new. Pages of private memory need no more: one that is there, is no page
// of a file or of zeros, and is not protected, was written. What others share is protected as
// a whole when it is first seen, because reading it makes it look the same.
bool Tracker::protect(const Mapping& mapping) {
    uffdio_register range = {};
    range.range = {mapping.start, mapping.end - mapping.start};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    if (ioctl(uffd_, UFFDIO_REGISTER, &range) < 0) return false;
    if (!mapping.shared) return true;
    const bool known = std::any_of(shared_.begin(), shared_.end(), [&](const Mapping& each) {
        return each.start == mapping.start && each.end == mapping.end;
    });
    if (known) return true;
    uffdio_writeprotect writes = {};
    writes.range = range.range;
    writes.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    if (ioctl(uffd_, UFFDIO_WRITEPROTECT, &writes) < 0) return false;
    shared_.push_back(mapping);
    return true;
}

bool Tracker::scan(std::vector<Run>& written) {
    std::vector<Mapping> mappings;
    if (!read_maps(mappings) || mappings.empty()) return false;
    std::erase_if(shared_, [&](const Mapping& old) {
        return std::none_of(mappings.begin(), mappings.end(), [&](const Mapping& each) {
            return each.start == old.start && each.end == old.end;
        });
    });
    tracked_bytes_ = untracked_bytes_ = 0;
    for (const Mapping& mapping : mappings) {
        const bool tracked = protect(mapping);
        (tracked ? tracked_bytes_ : untracked_bytes_) += mapping.end - mapping.start;
        if (tracked) scan_range(mapping.start, mapping.end, mapping.shared, written);
    }
    return true;
}

void Tracker::scan_range(uint64_t start, uint64_t end, bool shared, std::vector<Run>& written) {
    // The kernel has a fast way for this very question, to which pages that are not there
    // belong as well: it finds where to look.
    std::vector<Run> candidates;
    collect(start, end, 0, false, candidates);
    for (const Run& run : candidates)
        collect(run.start, run.end, shared ? is_zero : is_zero | is_file, true, written);
}

void Tracker::collect(uint64_t start, uint64_t end, uint64_t absent, bool again,
                      std::vector<Run>& into) {
    std::array<ScanRegion, 512> regions;
    ScanArguments scan = {};
    scan.size = sizeof scan;
    scan.end = end;
    scan.vec = reinterpret_cast<uintptr_t>(regions.data());
    scan.vec_len = regions.size();
    scan.flags = again ? protects_matching : 0;
    scan.category_inverted = absent;
    scan.category_mask = is_written | absent;
    scan.category_anyof_mask = again ? is_present | is_swapped : 0;
    scan.return_mask = is_written;
    while (start < end) {
        scan.start = start;
        const long found = ioctl(pagemap_, pagemap_scan, &scan);
        if (found < 0) {
            if (errno == EINTR) continue;
            return;  // it was unmapped meanwhile, or the process has ended
        }
        for (long i = 0; i < found; ++i) {
            const ScanRegion& region = regions[static_cast<size_t>(i)];
            if (!into.empty() && into.back().end == region.start)
                into.back().end = region.end;
            else
                into.push_back({region.start, region.end});
        }
        if (scan.walk_end <= start) return;
        start = scan.walk_end;
    }
}

std::vector<int> nodes_of(pid_t pid, const uint64_t* addresses, size_t count) {
    std::vector<void*> pages(count);
    for (size_t i = 0; i < count; ++i) pages[i] = reinterpret_cast<void*>(addresses[i]);
    std::vector<int> nodes(count, -1);
    if (count && syscall(SYS_move_pages, pid, count, pages.data(), nullptr, nodes.data(), 0) < 0)
        fail(errno, "move_pages");
    return nodes;
}

int tracking_error() {
    const int uffd = static_cast<int>(
        syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    if (uffd < 0) return errno;
    int error = agree(uffd);
    close(uffd);
    if (error) return error;
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0) return errno;
    ScanArguments scan = {};
    scan.size = sizeof scan;
    scan.category_mask = scan.return_mask = is_written;
    if (ioctl(pagemap, pagemap_scan, &scan) < 0 && errno == ENOTTY) error = errno;
    close(pagemap);
    return error;
}

}  // namespace gnomon::pages
