#include "perf/known_loop.hh"

#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace gnomon {

void known_loop(uint64_t iterations) {
    if (iterations == 0) return;
#if defined(__x86_64__)
    asm volatile("1: dec %0\n jnz 1b" : "+r"(iterations) : : "cc");
#elif defined(__aarch64__)
    asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(iterations) : : "cc");
#else
    for (volatile uint64_t i = 0; i < iterations; i = i + 1) {
    }
#endif
}

void known_faults(uint64_t pages) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    void* memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, pages * page, MADV_NOHUGEPAGE);
    auto* bytes = static_cast<volatile char*>(memory);
    for (uint64_t i = 0; i < pages; ++i) bytes[i * page] = 1;
    munmap(memory, pages * page);
}

}  // namespace gnomon
