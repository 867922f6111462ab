// Small files of /proc, read whole and taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon::account {

// Reads from the beginning into `buffer` and ends it with a zero; 0, or errno. A descriptor that is
// negative is opened first, and stays open.
int read_small(int& fd, const char* path, char* buffer, size_t size, size_t& got);
// The same of a file that is not kept open.
int read_once(const char* path, char* buffer, size_t size, size_t& got);
std::string read_whole(const std::string& path);
// What a link points at; empty when it cannot be read.
std::string read_link(const std::string& path);
// Names of a folder that are numbers.
std::vector<int> numbers_in(const std::string& folder);

struct Schedule {
    uint64_t on = 0, delay = 0, slices = 0;  // ns, ns
};
std::optional<Schedule> parse_schedstat(std::string_view text);

// "nr args SP PC" of a thread that waits.
struct Call {
    int64_t number = -1;
    uint64_t args[6] = {};
    uint64_t sp = 0, pc = 0;
    bool operator==(const Call&) const = default;
};
enum class CallState : uint8_t { waits, runs, kernel_thread, malformed };
CallState parse_call(std::string_view text, Call& call);

// Idle and stolen ns of some CPUs, from /proc/stat; of all where none are named.
struct Idle {
    uint64_t idle = 0, stolen = 0;
};
Idle parse_idle(std::string_view text, const std::vector<int>& cpus, uint64_t tick_ns);

// The number behind "name" at the beginning of a line; nothing without it.
std::optional<uint64_t> field_of(std::string_view text, std::string_view name);

// As /proc writes spaces in names: what stands between spaces is one name again.
std::string escaped(std::string_view name);

}  // namespace gnomon::account
