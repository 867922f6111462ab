// Which descriptors the asynchronous I/O of a thread is about, as far as its memory tells.
#pragma once

#include <vector>

#include "account/procfs.hh"

namespace gnomon::account {

// Of the last requests that were put into the queue of an io_uring.
std::vector<int> uring_descriptors(int pid, int ring_fd);
// Of the last requests that ended in a context of io_setup: those that run are the kernel's secret.
std::vector<int> aio_descriptors(int pid, uint64_t context);

}  // namespace gnomon::account
