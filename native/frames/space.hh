// What is mapped where: the files of all processes, and the mappings of each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "frames/stack_table.hh"

namespace gnomon::frames {

// An object that frames lie in: a file, or code that a process made itself.
struct Object {
    std::string path;
    int pid = -1;                          // of code without a file
    std::shared_ptr<Module> module;        // null when there is no file, or none that can be read
};

struct MapRequest {
    uint64_t start = 0, length = 0, offset = 0, inode = 0;
    std::string path;
};

// Files are opened once, whichever processes map them.
class Library {
  public:
    uint32_t object_of(int pid, const MapRequest& request);
    uint32_t anonymous(int pid);
    // An image that is in memory already.
    uint32_t add_image(const std::string& name, std::shared_ptr<const Image> image);
    const std::vector<Object>& objects() const { return objects_; }
    StackTable& stacks() { return stacks_; }
    const StackTable& stacks() const { return stacks_; }
    size_t memory() const;

  private:
    using Key = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t>;  // of one state of a file
    uint32_t add_file(const std::string& name, const std::string& opened, const Key& key);
    uint32_t unreadable(const std::string& path);

    std::vector<Object> objects_;
    std::map<Key, uint32_t> files_;
    std::map<std::string, uint32_t> unreadable_;
    std::map<int, uint32_t> anonymous_;
    uint32_t vdso_ = no_id;
    StackTable stacks_;
};

struct Mapping {
    uint64_t start, end;
    uint64_t bias;     // subtracted from an address gives the file's own
    uint32_t object;
    Module* module;    // null where no file can be read
};

// The executable mappings of one process.
class Space {
  public:
    Space(std::shared_ptr<Library> library, int pid) : library_(std::move(library)), pid_(pid) {}

    int pid() const { return pid_; }
    Library& library() const { return *library_; }
    // Reads /proc/PID/maps; false when the process has gone, and then nothing changes.
    bool refresh();
    // Reads the text of such a file; lines that are not understood are left out.
    void read(const std::string& text);
    // As a record of the kernel tells it: what it covers is replaced.
    void map(const MapRequest& request);
    void map_object(const MapRequest& request, uint32_t object);
    void clear() { mappings_.clear(); }
    // As a process has them that was forked from another one.
    void take(const Space& parent) { mappings_ = parent.mappings_; }
    const std::vector<Mapping>& mappings() const { return mappings_; }

    const Mapping* find(uint64_t address) const {
        if (last_ < mappings_.size() && address >= mappings_[last_].start &&
            address < mappings_[last_].end)
            return &mappings_[last_];
        return search(address);
    }
    // Bytes of a file that are mapped at an address; empty when there are not so many.
    Bytes code(uint64_t address, uint64_t size) const;

  private:
    const Mapping* search(uint64_t address) const;
    Mapping place(const MapRequest& request, uint32_t object) const;

    std::shared_ptr<Library> library_;
    int pid_;
    std::vector<Mapping> mappings_;  // by address
    mutable size_t last_ = 0;        // most addresses lie where the one before did
};

}  // namespace gnomon::frames
