// Names of addresses: symbol tables of ELF files, Go's own table, and maps that JITs write.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frames/image.hh"

namespace gnomon::frames {

struct Symbol {
    std::string_view name;
    uint64_t start = 0, size = 0;
};

// Functions of .symtab, else of .dynsym, sorted once.
class SymbolTable {
  public:
    explicit SymbolTable(std::shared_ptr<const Image> image);
    // The function whose bytes an address is one of; an empty name where there is none.
    Symbol find(uint64_t address) const;
    // Where a symbol of any kind lies; false without it.
    bool address_of(std::string_view name, uint64_t& address, uint64_t& size) const;
    size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        uint64_t start;
        uint32_t size, name;
    };
    void read(const Section& section);

    std::shared_ptr<const Image> image_;
    Bytes texts_;
    std::vector<Entry> entries_;
};

// .gopclntab of Go 1.18 and later.
class GoTable {
  public:
    explicit GoTable(std::shared_ptr<const Image> image);
    Symbol find(uint64_t address) const;
    uint64_t size() const { return functions_; }

  private:
    uint64_t entry(uint64_t number) const;  // where function `number` begins

    std::shared_ptr<const Image> image_;
    Bytes table_, names_, function_data_;
    uint64_t text_ = 0, functions_ = 0;
};

// /tmp/perf-PID.map: "start size name" in hexadecimal; a later line replaces what it covers.
class PerfMap {
  public:
    explicit PerfMap(std::string_view text);
    Symbol find(uint64_t address) const;
    size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        uint64_t start, size;
        uint32_t line;
        uint32_t name, length;
        uint64_t reach = 0;  // the furthest end of this and all entries before it
    };
    std::string text_;
    std::vector<Entry> entries_;
};

// The name as its language writes it, at most `longest` bytes; as given where nobody knows it.
std::string demangle(std::string_view symbol, size_t longest = 1024);
// Rust's own scheme (RFC 2603), of names that begin with "_R"; empty when it is malformed.
std::string demangle_rust(std::string_view symbol, size_t longest);
// What Rust's older scheme hid from C++ in a name.
std::string unescape_rust(std::string_view name);

}  // namespace gnomon::frames
