// Messages in shared memory: a ring for each direction, with one writer and one reader.
#pragma once

#include <atomic>
#include <cstring>

#include "notify/channel.hh"
#include "notify/shared.hh"

namespace gnomon::notify {

// What the two sides of a ring know of each other; each word has a cache line pair to itself.
struct Lane {
    alignas(128) std::atomic<uint32_t> written{0};
    alignas(128) std::atomic<uint32_t> read{0};
    alignas(128) std::atomic<uint32_t> sleeping{0};
};

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
}

// Carries the bytes; how a reader learns of them is up to the derived class.
class RingChannel : public Channel {
  public:
    explicit RingChannel(const ChannelOptions& options);
    void enter(int side, pid_t peer) override;
    void begin(size_t size) override;
    void send(const char* data) final;
    void receive(char* data) final;

  protected:
    // Called after a message was written, and until one is there to be read.
    virtual void notify() = 0;
    virtual void await() = 0;
    bool arrived() const {
        return in().written.load(std::memory_order_acquire) != received_;
    }
    Lane& out() const { return lanes_[side_]; }
    Lane& in() const { return lanes_[1 - side_]; }
    uint32_t received_ = 0;

  private:
    char* slot(int side, uint32_t number) const {
        return slots_ + static_cast<size_t>(side) * lane_bytes_ + (number & mask_) * stride_;
    }
    void await_space();
    SharedMemory memory_;
    Lane* lanes_;
    char* slots_;
    size_t lane_bytes_;
    size_t stride_ = 64;
    uint32_t mask_ = 63;
    uint32_t sent_ = 0;
    uint32_t known_read_ = 0;
};

}  // namespace gnomon::notify
