// Loops over columns are compiled for newer processors, too, and the one that fits is taken.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GNOMON_VECTOR __attribute__((target_clones("avx2", "default")))
#else
#define GNOMON_VECTOR
#endif
