// Memory that processes share after a fork, and sleeping on a word of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gnomon::notify {

class SharedMemory {
  public:
    explicit SharedMemory(size_t bytes);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    char* data() const { return data_; }

  private:
    char* data_;
    size_t bytes_;
};

// Sleeps while the word has this value; may return early.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value);
void wake_all(std::atomic<uint32_t>& word);

// Where two processes wait for each other, asleep: it must work on one core as well.
class Meeting {
  public:
    void meet(uint32_t parties);

  private:
    std::atomic<uint32_t> arrived_{0};
};

}  // namespace gnomon::notify
