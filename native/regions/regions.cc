#include "regions/regions.hh"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <unordered_map>

#include "perf/group.hh"
#include "regions/table.hh"

namespace gnomon {

namespace {

// Counts up when counters must be opened anew: after configuring, and in a forked child,
// whose descriptors would still count the parent.
std::atomic<uint64_t> generation{0};
std::atomic<uint32_t> next_id{0};

struct OpenRegion {
    uint32_t id;
    uint32_t node;
    uint64_t generation;  // of the recorder that began it
    uint64_t started;
    int failed;  // errno with which the counters could not be read
    uint64_t words[most_region_events + 2];
};

// The nodes that one thread writes to. When a thread ends, the next new one goes on with
// them, so that it is not the number of threads ever started that fills the table.
struct Track {
    struct Entry {
        uint32_t node;
        bool entered;  // by the thread that has the track now
    };
    std::unordered_map<uint64_t, Entry> nodes;  // by parent node and region
};

// What one thread needs to count its regions.
struct Recorder {
    uint64_t generation = 0;
    std::shared_ptr<RegionTable> table;
    std::unique_ptr<Group> group;
    uint32_t failed = 0;
    std::vector<OpenRegion> open;
    Track track;

    ~Recorder();
    void renew();
    uint32_t node_of(uint32_t parent, uint32_t id, const std::string& name);
    // Returns 0 or errno.
    int read(uint64_t* words) { return group ? group->read(words) : 0; }
};

thread_local Recorder recorder;

struct Setup {
    std::mutex mutex;
    std::vector<EventSpec> specs;
    std::vector<std::string> names;
    std::string folder;
    std::shared_ptr<RegionTable> table;
    std::vector<Track> spare;  // of threads that have ended, all in this table
};

// Never destroyed: threads may end after the statics of the process are gone.
Setup& setup = *new Setup;

// The fork waits until nobody changes the setup, so that the child finds it whole.
void before_fork() { setup.mutex.lock(); }
void after_fork_in_parent() { setup.mutex.unlock(); }
void after_fork_in_child() {
    setup.table.reset();
    setup.spare.clear();
    ++generation;
    setup.mutex.unlock();
}

Recorder::~Recorder() {
    std::lock_guard lock(setup.mutex);
    if (!table || table != setup.table) return;
    for (auto& [key, entry] : track.nodes) entry.entered = false;
    setup.spare.push_back(std::move(track));
}

void Recorder::renew() {
    static const int registered =
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    (void)registered;
    std::lock_guard lock(setup.mutex);
    if (!setup.table) setup.table = std::make_shared<RegionTable>(setup.folder, setup.names);
    table = setup.table;
    group.reset();
    failed = 0;
    track.nodes.clear();
    if (!setup.spare.empty()) {
        track = std::move(setup.spare.back());
        setup.spare.pop_back();
    }
    if (!setup.specs.empty()) {
        try {
            group = std::make_unique<Group>(setup.specs, 0, -1, nullptr);
            group->enable();
        } catch (const OpenFailure& failure) {
            group.reset();
            failed = static_cast<uint32_t>(failure.error);
        }
    }
    generation = gnomon::generation.load();
}

uint32_t Recorder::node_of(uint32_t parent, uint32_t id, const std::string& name) {
    const uint64_t key = static_cast<uint64_t>(parent) << 32 | id;
    auto found = track.nodes.find(key);
    if (found == track.nodes.end())
        found = track.nodes.emplace(key, Track::Entry{table->add(parent, name), false}).first;
    Track::Entry& entry = found->second;
    if (!entry.entered) {
        entry.entered = true;
        RegionNode& node = table->node(entry.node);
        ++node.threads;
        if (failed) node.failed = failed;
    }
    return entry.node;
}

}  // namespace

Region::Region(const std::string& name) : name_(name), id_(next_id++) {}

void Region::begin() {
    Recorder& mine = recorder;
    if (mine.generation != generation.load(std::memory_order_relaxed) || !mine.table) mine.renew();
    // What was open before a fork or a new configuration is no parent of what comes after.
    const bool inside = !mine.open.empty() && mine.open.back().generation == mine.generation;
    const uint32_t node = mine.node_of(inside ? mine.open.back().node : no_region, id_, name_);
    OpenRegion& entered = mine.open.emplace_back();
    entered.id = id_;
    entered.node = node;
    entered.generation = mine.generation;
    entered.started = monotonic_ns();
    entered.failed = mine.read(entered.words);
}

bool Region::end() {
    Recorder& mine = recorder;
    uint64_t words[most_region_events + 2];
    if (mine.open.empty() || mine.open.back().id != id_) return false;
    const OpenRegion& left = mine.open.back();
    // A region that was open when its process forked, or when regions were configured
    // anew, ends without being counted.
    if (left.generation == generation.load(std::memory_order_relaxed)) {
        const int failed = mine.read(words);
        const uint64_t now = monotonic_ns();
        RegionNode& node = mine.table->node(left.node);
        const uint64_t wall = now - left.started;
        ++node.instances;
        node.wall += wall;
        node.shortest = std::min(node.shortest, wall);
        node.longest = std::max(node.longest, wall);
        if (left.failed || failed) {
            node.failed = static_cast<uint32_t>(left.failed ? left.failed : failed);
        } else if (mine.group) {
            node.enabled += words[0] - left.words[0];
            node.running += words[1] - left.words[1];
            for (size_t i = 0; i < mine.group->size(); ++i)
                node.sums[i] += words[i + 2] - left.words[i + 2];
        }
    }
    mine.open.pop_back();
    return true;
}

void Region::abandon() {
    Recorder& mine = recorder;
    const auto mine_at = std::find_if(mine.open.rbegin(), mine.open.rend(),
                                      [this](const OpenRegion& r) { return r.id == id_; });
    if (mine_at == mine.open.rend()) return;
    mine.open.erase(mine_at.base(), mine.open.end());
    end();
}

void configure_regions(const std::vector<EventSpec>& specs, const std::vector<std::string>& names,
                       const std::string& folder) {
    std::lock_guard lock(setup.mutex);
    setup.specs = specs;
    setup.names = names;
    setup.folder = folder;
    if (setup.table) setup.table->discard();
    setup.table.reset();
    setup.spare.clear();
    ++generation;
}

std::string region_bytes() {
    std::lock_guard lock(setup.mutex);
    return setup.table ? setup.table->bytes() : std::string();
}

}  // namespace gnomon
