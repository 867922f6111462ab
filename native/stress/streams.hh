// Loops that move memory as fast as one core can: read, copy, triad, with and without caches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gnomon::stress {

// a[i] = b[i] + 3 c[i] for triad, a[i] = b[i] for copy; the `_nt` ones store past the caches.
enum class Stream { read, copy, triad, copy_nt, triad_nt };

// Whether it reads b, and c: what of memory a stream needs.
inline bool writes(Stream stream) { return stream != Stream::read; }
inline bool reads_two(Stream stream) {
    return stream == Stream::triad || stream == Stream::triad_nt;
}

// Returns the sum for read, 0 otherwise. Addresses are multiples of 64 bytes.
using Loop = double (*)(double* a, const double* b, const double* c, size_t count);

// The widths of instructions that this processor has, best last; the first is "plain".
std::vector<std::string> widths();

// An empty width is the best. Throws std::invalid_argument for one that is not there.
Loop loop_of(Stream stream, const std::string& width);

// Whether stores can go past the caches here.
bool has_non_temporal();

}  // namespace gnomon::stress
