// An ELF file: segments, sections, build-id and the name of its debug file. Parts of it are read when
// they are asked for. It is not mapped: who cuts a mapped file short ends those who read it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frames/cursor.hh"

namespace gnomon::frames {

struct Segment {
    uint64_t address, offset, size;
    bool executable;
};

struct Section {
    std::string_view name;
    uint32_t type, link;
    uint64_t address, offset, size;
};

struct DebugLink {
    std::string name;
    uint32_t crc = 0;
};

class Image {
  public:
    // Opens a regular file of at most 4 GB; null when it cannot be opened or is no 64-bit little-endian ELF file.
    static std::shared_ptr<const Image> open(const std::string& path);
    // Bytes that are already in memory, as of the kernel's own library or of a test.
    static std::shared_ptr<const Image> of(std::vector<uint8_t> bytes);
    // The library that the kernel maps into every process, from our own process.
    static std::shared_ptr<const Image> vdso();
    ~Image();
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    // The room of the whole file, in which zeros stand for what has not been asked for yet.
    Bytes bytes() const { return bytes_; }
    // Part of the file; empty when it does not lie in it as a whole.
    Bytes stored(uint64_t offset, uint64_t size) const;
    bool is_x86_64() const { return machine_ == 62; }
    // Bytes of the file that are loaded at an address; empty when not all of them are.
    Bytes at(uint64_t address, uint64_t size) const;
    const std::vector<Segment>& segments() const { return segments_; }
    const std::vector<Section>& sections() const { return sections_; }
    const Section* section(std::string_view name) const;
    // What a section has in the file: nothing when it is not stored there.
    Bytes contents(const Section& section) const;
    // The segment PT_GNU_EH_FRAME, as address and size; zeros without one.
    uint64_t frame_header() const { return frame_header_; }
    uint64_t frame_header_size() const { return frame_header_size_; }
    const std::string& build_id() const { return build_id_; }  // in hexadecimal digits
    const DebugLink& debug_link() const { return debug_link_; }
    // How far a mapping of this file at `start`, from `offset` on, is from the file's addresses.
    bool bias(uint64_t start, uint64_t offset, uint64_t& bias) const;

  private:
    Image() = default;
    bool parse();
    void parse_segments(uint64_t offset, uint16_t count);
    void parse_sections(uint64_t offset, uint16_t count, uint16_t names);
    void parse_notes(Bytes notes);

    std::vector<uint8_t> owned_;
    int fd_ = -1;
    uint8_t* room_ = nullptr;
    mutable std::vector<bool> loaded_;  // pieces of the file
    mutable uint64_t pieces_ = 0;       // so many of them
    Bytes bytes_;
    uint16_t machine_ = 0;
    std::vector<Segment> segments_;
    std::vector<Section> sections_;
    uint64_t frame_header_ = 0, frame_header_size_ = 0;
    std::string build_id_;
    DebugLink debug_link_;
};

}  // namespace gnomon::frames
