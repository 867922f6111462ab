// Records of ARM's statistical profiling extension (SPE), from the packets that it writes.
//
// After the Arm Architecture Reference Manual, "Statistical Profiling Extension sample record
// specification": a record is a row of packets that a timestamp or an end packet closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnomon::spe {

// An operation that was picked by chance; what no packet told is zero.
struct Record {
    uint64_t latency = 0;  // from dispatch to completion, in cycles
    uint64_t ip = 0;
    uint64_t address = 0;
    uint64_t events = 0;   // what happened to it, a bit each
    uint32_t context = 0;  // the task, where kernels put it there
    uint16_t source = 0;   // what answered it, in numbers of the core's maker
    bool sourced = false;
    bool load = false;
    bool store = false;
    bool atomic = false;
};

// Appends the whole records in `data`, which begins at byte `position` of the buffer, and returns
// how many bytes were used up: those of a record that is not whole yet are left for the next time.
size_t decode(const unsigned char* data, size_t size, uint64_t position,
              std::vector<Record>& records);

// What a record tells, as the kernel packs it for other PMUs (perf_mem_data_src).
// `common_sources`: the core numbers sources as ARM's own cores do.
uint64_t data_source(const Record& record, bool common_sources);

}  // namespace gnomon::spe
