// Who owns the time in which nothing of the program ran.
#pragma once

#include <vector>

#include "account/sweep.hh"

namespace gnomon::account {

// Gaps in order of time; `woken` of those given marks the start of the program.
std::vector<Gap> own_gaps(const Slices&, const Span&, std::vector<Gap>);

}  // namespace gnomon::account
