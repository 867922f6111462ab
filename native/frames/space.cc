#include "frames/space.hh"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/uio.h>

namespace gnomon::frames {

namespace {

constexpr size_t most_mappings = 65536;  // the kernel's own limit
constexpr std::string_view deleted = " (deleted)";

std::string root_of(int pid) { return "/proc/" + std::to_string(pid) + "/root"; }

// Whether a file has the code that a process has mapped of it. Inode numbers differ between a
// mapping and its file on some file systems, so they alone do not tell.
bool same_code(int pid, const MapRequest& request, const std::string& opened) {
    const auto image = Image::open(opened);
    if (!image) return false;
    const uint64_t size = std::min<uint64_t>(request.length, 512);
    const Bytes stored = image->stored(request.offset, size);
    if (stored.empty()) return false;
    std::vector<uint8_t> read(size);
    iovec local{read.data(), size};
    iovec remote{reinterpret_cast<void*>(request.start), size};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(size))
        return false;
    return std::equal(read.begin(), read.end(), stored.begin());
}

template <typename T>
bool number(const char*& at, const char* end, T& value, int base) {
    const auto [stop, error] = std::from_chars(at, end, value, base);
    at = stop;
    return error == std::errc{};
}

// A line of /proc/PID/maps, if it maps code.
bool parse_line(const std::string& line, MapRequest& request) {
    const char* at = line.data();
    const char* end = at + line.size();
    uint64_t stop = 0;
    uint32_t device = 0;
    if (!number(at, end, request.start, 16) || at == end || *at++ != '-') return false;
    if (!number(at, end, stop, 16) || stop <= request.start || end - at < 6) return false;
    const bool executable = at[3] == 'x';
    at += 6;
    if (!executable || !number(at, end, request.offset, 16) || at == end) return false;
    if (!number(++at, end, device, 16) || at == end) return false;
    if (!number(++at, end, device, 16) || at == end) return false;
    if (!number(++at, end, request.inode, 10)) return false;
    while (at < end && *at == ' ') ++at;
    request.path.assign(at, end);
    request.length = stop - request.start;
    return true;
}

}  // namespace

uint32_t Library::anonymous(int pid) {
    const auto [found, added] = anonymous_.emplace(pid, static_cast<uint32_t>(objects_.size()));
    if (added) objects_.push_back({"", pid, nullptr});
    return found->second;
}

uint32_t Library::unreadable(const std::string& path) {
    const auto [found, added] = unreadable_.emplace(path, static_cast<uint32_t>(objects_.size()));
    if (added) objects_.push_back({path, -1, nullptr});
    return found->second;
}

uint32_t Library::add_file(const std::string& name, const std::string& opened, const Key& key) {
    auto image = Image::open(opened);
    if (!image) return unreadable(name);
    const uint32_t number = add_image(name, std::move(image));
    files_.emplace(key, number);
    return number;
}

uint32_t Library::add_image(const std::string& name, std::shared_ptr<const Image> image) {
    const auto number = static_cast<uint32_t>(objects_.size());
    objects_.push_back({name, -1, std::make_shared<Module>(number, name, std::move(image))});
    return number;
}

uint32_t Library::object_of(int pid, const MapRequest& request) {
    if (request.path == "[vdso]") {
        if (vdso_ == no_id) {
            auto image = Image::vdso();
            if (!image) return unreadable(request.path);
            vdso_ = add_image(request.path, std::move(image));
        }
        return vdso_;
    }
    if (!request.path.starts_with('/') || request.path.starts_with("//anon"))
        return anonymous(pid);
    std::string name = request.path;
    if (name.ends_with(deleted)) name.resize(name.size() - deleted.size());

    // The path as the process sees it; what it runs, when that has been deleted; its mapping.
    char range[64];
    std::snprintf(range, sizeof range, "/map_files/%llx-%llx",
                  static_cast<unsigned long long>(request.start),
                  static_cast<unsigned long long>(request.start + request.length));
    const std::string process = "/proc/" + std::to_string(pid);
    const std::string ways[] = {root_of(pid) + name, name, process + "/exe", process + range};
    for (const bool strict : {true, false})
        for (const std::string& way : ways) {
            struct stat about;
            if (stat(way.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
            const bool same = request.inode == 0 || about.st_ino == request.inode;
            if (strict ? !same : same || !same_code(pid, request, way)) continue;
            const Key key{about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
                          about.st_mtim.tv_nsec};
            const auto found = files_.find(key);
            return found != files_.end() ? found->second : add_file(name, way, key);
        }
    return unreadable(name);
}

size_t Library::memory() const {
    size_t total = stacks_.memory();
    for (const Object& object : objects_)
        if (object.module) total += object.module->memory();
    return total;
}

bool Space::refresh() {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/maps");
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || text.str().empty()) return false;  // as of a process that has ended
    read(text.str());
    return true;
}

void Space::read(const std::string& text) {
    std::vector<Mapping> mappings;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line) && mappings.size() < most_mappings;) {
        MapRequest request;
        if (parse_line(line, request)) mappings.push_back(place(request, library_->object_of(pid_, request)));
    }
    std::sort(mappings.begin(), mappings.end(),
              [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
    mappings_ = std::move(mappings);
    last_ = 0;
}

Mapping Space::place(const MapRequest& request, uint32_t number) const {
    Mapping made{request.start, request.start + request.length, 0, number, nullptr};
    const Object& object = library_->objects()[number];
    if (object.module && object.module->image().bias(request.start, request.offset, made.bias)) {
        made.module = object.module.get();
    } else if (object.module || !object.path.empty()) {
        made.bias = request.start - request.offset;  // an offset in the file is better than none
    }
    return made;
}

void Space::map(const MapRequest& request) {
    if (request.length == 0 || request.start + request.length < request.start) return;
    map_object(request, library_->object_of(pid_, request));
}

void Space::map_object(const MapRequest& request, uint32_t object) {
    const uint64_t end = request.start + request.length;
    std::vector<Mapping> mappings;
    for (const Mapping& each : mappings_) {
        if (each.end <= request.start || each.start >= end) {
            mappings.push_back(each);
            continue;
        }
        if (each.start < request.start) {
            mappings.push_back(each);
            mappings.back().end = request.start;
        }
        if (each.end > end) {
            mappings.push_back(each);
            mappings.back().start = end;
        }
    }
    if (mappings.size() < most_mappings) mappings.push_back(place(request, object));
    std::sort(mappings.begin(), mappings.end(),
              [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
    mappings_ = std::move(mappings);
    last_ = 0;
}

const Mapping* Space::search(uint64_t address) const {
    const auto after =
        std::upper_bound(mappings_.begin(), mappings_.end(), address,
                         [](uint64_t value, const Mapping& each) { return value < each.start; });
    if (after == mappings_.begin() || address >= (after - 1)->end) return nullptr;
    last_ = static_cast<size_t>(after - 1 - mappings_.begin());
    return &mappings_[last_];
}

Bytes Space::code(uint64_t address, uint64_t size) const {
    const Mapping* mapping = find(address);
    if (!mapping || !mapping->module || mapping->end - address < size) return {};
    return mapping->module->image().at(address - mapping->bias, size);
}

}  // namespace gnomon::frames
