// Tables that grow while a program runs: at one address, in memory up to a bound, and then in a file
// that has no name any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gnomon::account {

// Where several tables get their room.
class Room {
  public:
    // The folders are tried in turn, once `in_memory` bytes are used up.
    Room(size_t in_memory, std::vector<std::string> folders)
        : left_(in_memory), folders_(std::move(folders)) {}
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    // Makes a piece of reserved addresses usable; false when there is no room anywhere.
    bool provide(char* at, size_t bytes);
    // Which folder has what did not fit into memory; empty as long as all of it does.
    const std::string& spilled_to() const { return spilled_to_; }

  private:
    bool open_next();

    size_t left_;
    std::vector<std::string> folders_;
    size_t next_ = 0;
    int fd_ = -1;
    int64_t used_ = 0;
    std::string spilled_to_;
};

// Addresses that are reserved at once and provided step by step.
class Growing {
  public:
    Growing(Room& room, size_t most);
    ~Growing();
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;

    // Makes so many more bytes usable; false when they cannot be had.
    bool grow(size_t bytes);
    char* data() const { return start_; }
    size_t size() const { return size_; }

  private:
    Room& room_;
    char* start_ = nullptr;
    size_t reserved_ = 0, provided_ = 0, size_ = 0;
};

template <typename Row>
class Table {
  public:
    Table(Room& room, size_t most_rows) : bytes_(room, most_rows * sizeof(Row)) {}

    bool push(const Row& row) {
        if (!bytes_.grow(sizeof(Row))) return false;
        begin()[rows_++] = row;
        return true;
    }
    Row* begin() const { return reinterpret_cast<Row*>(bytes_.data()); }
    Row* end() const { return begin() + rows_; }
    size_t size() const { return rows_; }

  private:
    Growing bytes_;
    size_t rows_ = 0;
};

}  // namespace gnomon::account
