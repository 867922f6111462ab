// The text that valgrind's tool lackey writes with --trace-mem=yes, as operations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "machine/program.hh"

namespace gnomon::machine {

// Turns lines into operations. An instruction gives a fetch; the first reference that follows
// stands for the instruction, further ones are `continued`, and one without any is `other`.
class LackeyParser {
  public:
    // Appends the operations of all whole lines; the rest waits for the next piece of text.
    void parse(std::string_view text, std::vector<Op>& into);
    void finish(std::vector<Op>& into);
    uint64_t instructions() const { return instructions_; }
    // Lines that are no reference: messages of valgrind, or anything else.
    uint64_t ignored() const { return ignored_; }

  private:
    void line(std::string_view text, std::vector<Op>& into);
    void close(std::vector<Op>& into);
    void reference(Code code, uint64_t address, uint32_t size, std::vector<Op>& into);
    std::string rest_;
    bool open_ = false;  // an instruction of which no reference was seen yet
    uint64_t instructions_ = 0;
    uint64_t ignored_ = 0;
};

// Reads such text from a descriptor that it then owns.
class LackeyFeed : public Feed {
  public:
    explicit LackeyFeed(int fd);
    ~LackeyFeed() override;
    LackeyFeed(const LackeyFeed&) = delete;
    LackeyFeed& operator=(const LackeyFeed&) = delete;
    Supply pull(Op* into, size_t room, size_t& given) override;
    bool wait(int milliseconds) override;
    // Gives no more; a thread reads on, so that valgrind need not wait.
    void detach();
    const LackeyParser& parser() const { return parser_; }

  private:
    bool refill();
    void discard(std::stop_token stop);
    int fd_;
    bool ended_ = false;
    LackeyParser parser_;
    std::vector<char> buffer_;
    std::vector<Op> ops_;
    size_t at_ = 0;
    std::jthread reader_;
};

}  // namespace gnomon::machine
