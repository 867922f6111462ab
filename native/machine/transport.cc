// Time and traffic on links and at memory controllers.
#include "machine/system.hh"

namespace gnomon::machine {

// Sends a message along the route and returns how long it takes one way.
Tick System::transfer(const Request& request, uint32_t from, uint32_t to, Tick now, bool data,
                      int64_t payload) {
    if (from == to) return 0;
    const int64_t bytes = data ? payload + spec_.header_bytes : spec_.request_bytes;
    const Tick start = now;
    for (const uint32_t id : route(from, to)) {
        const DirectionSpec& direction = spec_.directions[id];
        const Tick wait =
            bytes ? channels_[direction.channel].send(request.thread.id, now, bytes) : 0;
        now += wait + direction.latency;
        link_counts_.at(id, LinkCount::messages) += 1;
        link_counts_.at(id, LinkCount::data_messages) += data;
        link_counts_.at(id, LinkCount::bytes) += static_cast<uint64_t>(bytes);
        link_counts_.at(id, LinkCount::wait_ticks) += static_cast<uint64_t>(wait);
        request.thread.count(ThreadCount::wait_ticks) +=
            static_cast<uint64_t>(wait);
    }
    return now - start;
}

// Books a line at the controller that is responsible for it; returns the wait.
Tick System::control(Thread& thread, uint32_t home, uint64_t line, Tick now, int64_t bytes) {
    const auto& controllers = spec_.nodes[home].controllers;
    const Tick wait =
        channels_[controllers[line % controllers.size()]].send(thread.id, now, bytes);
    node_counts_.at(home, NodeCount::bytes) += static_cast<uint64_t>(bytes);
    node_counts_.at(home, NodeCount::wait_ticks) += static_cast<uint64_t>(wait);
    thread.count(ThreadCount::wait_ticks) += static_cast<uint64_t>(wait);
    return wait;
}

Tick System::read_memory(Request& request, uint32_t home, uint64_t line, Tick now) {
    const uint32_t node = request.core.node;
    const bool remote = home != node;
    const Tick start = now;
    now += transfer(request, node, home, now, false, 0);
    now += control(request.thread, home, line, now, line_bytes_);
    now += spec_.nodes[home].read_latency;
    now += transfer(request, home, node, now, true, line_bytes_);
    node_counts_.at(home, NodeCount::memory_reads) += 1;
    node_counts_.at(home, NodeCount::remote_reads) += remote;
    request.thread.count(ThreadCount::memory_reads_local, remote) += 1;
    return now - start;
}

// Nobody waits for a write-back; it only takes its share of links and controller.
void System::write_memory(Request& request, uint32_t from, uint32_t home, uint64_t line) {
    const bool remote = home != from;
    const Tick there =
        request.now + transfer(request, from, home, request.now, true, line_bytes_);
    control(request.thread, home, line, there, line_bytes_);
    node_counts_.at(home, NodeCount::memory_writes) += 1;
    node_counts_.at(home, NodeCount::remote_writes) += remote;
    request.thread.count(ThreadCount::memory_writes_local, remote) += 1;
}

Page& System::find_page(const Request& request, uint64_t address) {
    const size_t before = memory_.pages().size();
    Page& page = memory_.page(address, request.core.node);
    if (memory_.pages().size() != before) {
        node_counts_.at(page.node, NodeCount::pages) += 1;
        request.thread.count(ThreadCount::first_touches) += 1;
    }
    return page;
}

// The lines leave all caches and the translations all buffers, as when an operating system
// moves a page; then the page crosses the links line by line.
void System::migrate(uint32_t thread_id, uint64_t start, uint64_t bytes, uint32_t node) {
    Thread& thread = threads_[thread_id];
    Request request{thread, cores_[thread.core], start, Kind::load, thread.time, false};
    const uint64_t page_bytes = memory_.page_bytes();
    const uint64_t first = start & ~(page_bytes - 1);
    for (uint64_t address = first; address < start + bytes; address += page_bytes) {
        Page* page = memory_.find(address);
        if (!page || page->node == node) continue;
        const uint32_t old = page->node;
        Tick last = request.now;
        for (uint64_t i = 0; i < memory_.lines_per_page(); ++i) {
            const uint64_t line = line_of(address) + i;
            Entry& entry = memory_.entry(*page, line);
            bool dirty = entry.dirty_cluster >= 0;
            uint32_t holder = dirty ? spec_.cluster_node[entry.dirty_cluster] : 0;
            for (Core& core : cores_)
                if (entry.cores >> core.id & 1 && drop(core, line)) {
                    dirty = true;
                    holder = core.node;
                }
            for (size_t cluster = 0; cluster < lasts_.size(); ++cluster)
                if (entry.clusters >> cluster & 1)
                    lasts_[cluster].clear(lasts_[cluster].find(line));
            entry = Entry{};
            if (dirty) write_memory(request, holder, old, line);
            Tick now = request.now + control(thread, old, line, request.now, line_bytes_);
            now += spec_.nodes[old].read_latency;
            now += transfer(request, old, node, now, true, line_bytes_);
            now += control(thread, node, line, now, line_bytes_);
            last = std::max(last, now + spec_.nodes[node].write_latency);
        }
        for (Core& core : cores_)
            for (auto* buffer : {&core.dtlb, &core.itlb, &core.stlb})
                if (*buffer)
                    if (const size_t slot = (*buffer)->find(page->number); slot != Cache::none)
                        (*buffer)->clear(slot);
        page->node = node;
        node_counts_.at(old, NodeCount::migrations_out) += 1;
        node_counts_.at(node, NodeCount::migrations_in) += 1;
        request.now = last;
    }
    thread.time = request.now;
}

}  // namespace gnomon::machine
