// Work whose event counts are known beforehand, to prove that a counter counts.
#pragma once

#include <cstdint>

namespace gnomon {

// Executes 2 x iterations instructions, one of each pair a taken branch.
void known_loop(uint64_t iterations);

// Touches `pages` fresh pages (a page fault each) and lets them go again.
void known_faults(uint64_t pages);

}  // namespace gnomon
