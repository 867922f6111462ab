// Where regions keep their sums: a table in memory, or in a file that outlives the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gnomon {

inline constexpr uint32_t most_region_events = 16;
inline constexpr uint32_t no_region = 0xffffffff;

// One region in one place of the call tree of one thread, or of several that lived one
// after the other. Only one thread at a time writes to it.
struct RegionNode {
    uint32_t parent;   // index in the table, or no_region
    uint32_t threads;  // how many have been in it
    uint32_t failed;   // errno with which a thread's counters could not be opened
    uint32_t name_bytes;
    char name[128];
    uint64_t instances;
    uint64_t wall, shortest, longest;  // ns
    uint64_t enabled, running;         // ns
    uint64_t sums[most_region_events];
};

struct RegionTableHeader {
    char magic[8];
    uint32_t version;
    uint32_t process;
    uint32_t parent_process;
    uint32_t events;
    std::atomic<uint32_t> nodes;
    uint32_t capacity;
    char event_names[most_region_events][112];
};

// A fixed number of nodes in one mapping. With a folder it is a sparse file there, so that
// the sums survive any end of the process, kill -9 and _exit included.
class RegionTable {
  public:
    RegionTable(const std::string& folder, const std::vector<std::string>& events);
    ~RegionTable();
    RegionTable(const RegionTable&) = delete;
    RegionTable& operator=(const RegionTable&) = delete;

    // Returns a fresh node, or the last one ("(more)") when the table is full. That one
    // belongs to no other and is written to by all threads, so its sums are not exact.
    uint32_t add(uint32_t parent, const std::string& name);
    RegionNode& node(uint32_t index) { return nodes_[index]; }
    // The header and the nodes in use, as they stand in a file.
    std::string bytes() const;
    // Removes the file, if there is one and this process made it.
    void discard();
    static constexpr uint32_t capacity = 16384;

  private:
    int make_file(const std::string& folder);

    std::string path_;
    RegionTableHeader* header_ = nullptr;
    RegionNode* nodes_ = nullptr;
    size_t mapped_ = 0;
};

}  // namespace gnomon
