// Ways in which one process tells another that a message is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace gnomon::notify {

// The reason why a mechanism cannot be used on this host.
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Two ends that send each other messages. Made before the fork; each process then enters
// its side. Sizes are agreed on beforehand, as the caller knows what it waits for.
class Channel {
  public:
    virtual ~Channel() = default;
    // In the process of this side; `peer` is the process of the other one.
    virtual void enter(int side, pid_t peer) {
        side_ = side;
        peer_ = peer;
    }
    // The size of the messages that follow; none is under way.
    virtual void begin(size_t size) { size_ = size; }
    virtual void send(const char* data) = 0;
    virtual void receive(char* data) = 0;

  protected:
    int side_ = 0;
    pid_t peer_ = 0;
    size_t size_ = 0;
};

struct ChannelOptions {
    size_t largest = 0;     // bytes of the largest message
    uint64_t spin_ns = 0;   // how long to spin before blocking, where both are done
};

// Throws Unavailable where the host lacks it, std::system_error where it fails otherwise.
std::unique_ptr<Channel> make_channel(const std::string& mechanism, const ChannelOptions& options);
std::vector<std::string> mechanisms();

// The makers of the parts; each returns nothing for names that are not its own.
std::unique_ptr<Channel> make_waiting(const std::string& mechanism, const ChannelOptions& options);
std::unique_ptr<Channel> make_told(const std::string& mechanism, const ChannelOptions& options);
std::unique_ptr<Channel> make_stream(const std::string& mechanism, const ChannelOptions& options);
std::unique_ptr<Channel> make_uring(const std::string& mechanism, const ChannelOptions& options);

// Throws std::system_error with errno.
[[noreturn]] void fail(const char* what);
inline int checked(int result, const char* what) {
    if (result < 0) fail(what);
    return result;
}

// A descriptor that is closed with its owner.
class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Descriptor& operator=(Descriptor&& other) noexcept;
    operator int() const { return fd_; }

  private:
    int fd_;
};

}  // namespace gnomon::notify
