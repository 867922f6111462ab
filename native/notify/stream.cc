// Mechanisms whose bytes go through the kernel: pipes, sockets, message queues.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "notify/channel.hh"

namespace gnomon::notify {

namespace {

// Bytes without borders: an empty message is one byte, or nobody would be woken.
class StreamChannel final : public Channel {
  public:
    explicit StreamChannel(const std::string& kind) {
        int ends[2];
        if (kind == "pipe") {
            for (int side : {0, 1}) {
                checked(pipe2(ends, O_CLOEXEC), "pipe");
                in_[side] = Descriptor(ends[0]);
                out_[1 - side] = Descriptor(ends[1]);
            }
            return;
        }
        if (kind == "unix-stream")
            checked(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "UNIX socket");
        else
            connect_loopback(ends);
        for (int side : {0, 1}) {
            in_[side] = Descriptor(ends[side]);
            out_[side] = Descriptor(checked(dup(ends[side]), "socket"));
        }
    }
    void enter(int side, pid_t peer) override {
        Channel::enter(side, peer);
        // Who alone holds an end sees that the other one has gone.
        in_[1 - side] = Descriptor();
        out_[1 - side] = Descriptor();
    }
    void begin(size_t size) override { Channel::begin(std::max<size_t>(size, 1)); }
    void send(const char* data) override {
        for (size_t done = 0; done < size_;) {
            const ssize_t some = write(out_[side_], data + done, size_ - done);
            if (some > 0)
                done += static_cast<size_t>(some);
            else if (errno != EINTR)
                fail("write");
        }
    }
    void receive(char* data) override {
        for (size_t done = 0; done < size_;) {
            const ssize_t some = read(in_[side_], data + done, size_ - done);
            if (some > 0)
                done += static_cast<size_t>(some);
            else if (some == 0 || errno != EINTR)
                fail("read");
        }
    }

  private:
    static void connect_loopback(int* ends) {
        Descriptor listening(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "TCP"));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* place = reinterpret_cast<sockaddr*>(&address);
        checked(bind(listening, place, length), "TCP");
        checked(listen(listening, 1), "TCP");
        checked(getsockname(listening, place, &length), "TCP");
        Descriptor calling(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "TCP"));
        checked(connect(calling, place, length), "TCP");
        ends[1] = checked(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC), "TCP");
        ends[0] = checked(dup(calling), "TCP");
        const int on = 1;
        for (int side : {0, 1})
            checked(setsockopt(ends[side], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP");
    }
    Descriptor in_[2];
    Descriptor out_[2];
};

class DatagramChannel final : public Channel {
  public:
    explicit DatagramChannel(size_t largest) {
        int ends[2];
        checked(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), "UNIX socket");
        // Room for a few of the largest; the kernel gives what its limit allows.
        const int room = static_cast<int>(std::max<size_t>(4 * largest, 1u << 18));
        for (int side : {0, 1}) {
            ends_[side] = Descriptor(ends[side]);
            setsockopt(ends_[side], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        }
    }
    void send(const char* data) override {
        while (::send(ends_[side_], data, size_, 0) < 0)
            if (errno != EINTR) fail("UNIX datagram");
    }
    void receive(char* data) override {
        while (recv(ends_[side_], data, size_, 0) < 0)
            if (errno != EINTR) fail("UNIX datagram");
    }

  private:
    Descriptor ends_[2];
};

class QueueChannel final : public Channel {
  public:
    explicit QueueChannel(size_t largest) : room_(std::max<size_t>(largest, 1)) {
        for (int side : {0, 1}) {
            char name[64];
            std::snprintf(name, sizeof name, "/gnomon-notify-%d-%d", getpid(), side);
            mq_attr wanted{};
            wanted.mq_maxmsg = 8;
            wanted.mq_msgsize = static_cast<long>(room_);
            const mqd_t queue =
                mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600, &wanted);
            if (queue == mqd_t(-1)) {
                if (errno == ENOSYS) throw Unavailable("the kernel has no POSIX message queues");
                fail("message queue");
            }
            mq_unlink(name);
            queues_[side] = Descriptor(queue);
        }
    }
    void send(const char* data) override {
        while (mq_send(queues_[1 - side_], data, size_, 0) != 0)
            if (errno != EINTR) fail("message queue");
    }
    void receive(char* data) override {
        // The kernel wants room for the largest message; buffers are never smaller.
        while (mq_receive(queues_[side_], data, room_, nullptr) < 0)
            if (errno != EINTR) fail("message queue");
    }

  private:
    size_t room_;
    Descriptor queues_[2];
};

}  // namespace

std::unique_ptr<Channel> make_stream(const std::string& name, const ChannelOptions& options) {
    if (name == "pipe" || name == "unix-stream" || name == "tcp")
        return std::make_unique<StreamChannel>(name);
    if (name == "unix-datagram") return std::make_unique<DatagramChannel>(options.largest);
    if (name == "mqueue") return std::make_unique<QueueChannel>(options.largest);
    return nullptr;
}

}  // namespace gnomon::notify
