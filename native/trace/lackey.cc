#include "trace/lackey.hh"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace gnomon::machine {

namespace {

constexpr uint32_t largest = 4096;  // bytes of a reference; more is no line of lackey
constexpr uint32_t piece = 64;      // what one operation holds of a large one

}  // namespace

void LackeyParser::parse(std::string_view text, std::vector<Op>& into) {
    for (;;) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos) break;
        if (rest_.empty()) {
            line(text.substr(0, end), into);
        } else {
            rest_.append(text.substr(0, end));
            line(rest_, into);
            rest_.clear();
        }
        text.remove_prefix(end + 1);
    }
    // The line of a program that writes no end of line must not fill the memory.
    if (rest_.size() < largest) rest_.append(text.substr(0, largest));
}

void LackeyParser::finish(std::vector<Op>& into) {
    if (!rest_.empty()) ++ignored_;  // cut off, so that its number may be too
    rest_.clear();
    close(into);
}

void LackeyParser::close(std::vector<Op>& into) {
    if (open_) into.push_back(Op{.value = 1, .code = Code::other});
    open_ = false;
}

void LackeyParser::reference(Code code, uint64_t address, uint32_t size, std::vector<Op>& into) {
    while (size > 0) {
        const uint32_t length = std::min(size, piece);
        uint8_t flags = continued;
        if (code == Code::fetch) {
            flags = 0;
        } else if (open_) {
            flags = 0;
            open_ = false;
        }
        into.push_back(Op{.value = address,
                          .code = code,
                          .size = static_cast<uint8_t>(length),
                          .flags = flags});
        address += length;
        size -= length;
    }
}

// "I  04025ff0,3", " L 1ffeffe7f0,8", " S ...", " M ...": hexadecimal address, decimal size.
void LackeyParser::line(std::string_view text, std::vector<Op>& into) {
    const std::string_view head = text.substr(0, 2);
    const bool fetches = head == "I ", loads = head == " L", stores = head == " S";
    const bool modifies = head == " M";
    const char* at = text.data() + std::min<size_t>(2, text.size());
    const char* end = text.data() + text.size();
    const char* digits = std::find_if(at, end, [](char c) { return c != ' '; });
    const bool spaced = fetches || digits != at;
    uint64_t address = 0;
    uint32_t size = 0;
    const auto comma = std::from_chars(digits, end, address, 16);
    bool valid = (fetches || loads || stores || modifies) && spaced && comma.ec == std::errc() &&
                 comma.ptr != end && *comma.ptr == ',';
    if (valid) {
        const auto last = std::from_chars(comma.ptr + 1, end, size, 10);
        valid = last.ec == std::errc() && last.ptr == end && size >= 1 && size <= largest;
    }
    if (!valid) {
        ++ignored_;
        return;
    }
    if (fetches) {
        close(into);
        reference(Code::fetch, address, size, into);
        ++instructions_;
        open_ = true;
        return;
    }
    if (loads || modifies) reference(Code::load, address, size, into);
    if (stores || modifies) reference(Code::store, address, size, into);
}

LackeyFeed::LackeyFeed(int fd) : fd_(fd), buffer_(1 << 16) {
    fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

LackeyFeed::~LackeyFeed() {
    if (reader_.joinable()) {
        reader_.request_stop();
        reader_.join();
    }
    close(fd_);
}

// Reads once; false when there was nothing to read.
bool LackeyFeed::refill() {
    ops_.clear();
    at_ = 0;
    const ssize_t got = read(fd_, buffer_.data(), buffer_.size());
    if (got < 0) return false;
    if (got == 0) {
        parser_.finish(ops_);
        ended_ = true;
    } else {
        parser_.parse(std::string_view(buffer_.data(), static_cast<size_t>(got)), ops_);
    }
    return true;
}

Supply LackeyFeed::pull(Op* into, size_t room, size_t& given) {
    given = 0;
    while (given < room) {
        if (at_ == ops_.size() && (ended_ || !refill())) break;
        const size_t some = std::min(room - given, ops_.size() - at_);
        std::copy_n(ops_.data() + at_, some, into + given);
        given += some;
        at_ += some;
    }
    if (given > 0 || room == 0) return Supply::more;
    return ended_ ? Supply::ended : Supply::pending;
}

bool LackeyFeed::wait(int milliseconds) {
    if (ended_ || at_ < ops_.size()) return true;
    pollfd watched = {fd_, POLLIN, 0};
    return poll(&watched, 1, milliseconds) > 0;
}

void LackeyFeed::detach() {
    if (reader_.joinable()) return;
    ended_ = true;
    ops_.clear();
    at_ = 0;
    reader_ = std::jthread([this](std::stop_token stop) { discard(stop); });
}

void LackeyFeed::discard(std::stop_token stop) {
    while (!stop.stop_requested()) {
        pollfd watched = {fd_, POLLIN, 0};
        if (poll(&watched, 1, 50) <= 0) continue;
        const ssize_t got = read(fd_, buffer_.data(), buffer_.size());
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
    }
}

}  // namespace gnomon::machine
