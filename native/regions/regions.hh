// Counting regions of a program: begin and end cost little more than two reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/event.hh"

namespace gnomon {

// A named region. The object has no state of its own: instances live on the stack of the
// thread that is in them, so one object serves all threads, nested and recursive.
class Region {
  public:
    explicit Region(const std::string& name);
    void begin();
    // False when the innermost open region of this thread is another one.
    bool end();
    // Closes this region and any inside it that were left open, without counting those.
    void abandon();
    const std::string& name() const { return name_; }

  private:
    std::string name_;
    uint32_t id_;
};

// Sets what regions count, for all threads, and starts a new table in `folder` (memory
// only when empty). Regions that are open are forgotten.
void configure_regions(const std::vector<EventSpec>& specs, const std::vector<std::string>& names,
                       const std::string& folder);
// The table of this process as bytes; empty before anything was configured.
std::string region_bytes();

}  // namespace gnomon
