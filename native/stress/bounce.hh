// How long a line takes from the core that wrote it to another that waits for it.
#pragma once

#include <vector>

namespace gnomon::stress {

// Two threads on two CPUs write the same line in turn. Each sample is the time of one transfer
// in ns, the mean over `rounds` there and back; samples end when the time is over.
std::vector<double> bounce(int first, int second, unsigned rounds, unsigned samples,
                           double seconds);

}  // namespace gnomon::stress
