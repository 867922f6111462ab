#include "frames/image.hh"

#include <algorithm>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gnomon::frames {

namespace {

// More than any linker makes; a hostile file could have 65,535, and each look-up walks them.
constexpr size_t most_segments = 64;
constexpr uint64_t largest_file = uint64_t{4} << 30, largest_section = uint64_t{256} << 20;
constexpr uint64_t piece = 1 << 15, most_pieces = (uint64_t{512} << 20) / piece;

std::string hexadecimal(Bytes bytes) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace

std::shared_ptr<const Image> Image::open(const std::string& path) {
    // A fifo or a device must neither block nor be read.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return nullptr;
    std::shared_ptr<Image> image(new Image);
    image->fd_ = fd;
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return nullptr;
    const auto size = static_cast<uint64_t>(about.st_size);
    if (size < sizeof(Elf64_Ehdr) || size > largest_file) return nullptr;
    // Addresses alone: memory is taken for the pieces that are read.
    void* room = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    image->room_ = static_cast<uint8_t*>(room);
    image->bytes_ = Bytes(image->room_, size);
    image->loaded_.resize((size + piece - 1) / piece);
    return image->parse() ? image : nullptr;
}

Bytes Image::stored(uint64_t offset, uint64_t size) const {
    const Bytes found = part(bytes_, offset, size);
    if (loaded_.empty() || found.empty()) return found;
    for (uint64_t i = offset / piece; i <= (offset + size - 1) / piece; ++i) {
        if (loaded_[i]) continue;
        if (pieces_ >= most_pieces) return {};  // a file with holes costs its maker nothing
        loaded_[i] = true;
        ++pieces_;
        // What a file that has become shorter no longer has, stays zero.
        uint64_t at = i * piece;
        const uint64_t end = std::min<uint64_t>(at + piece, bytes_.size());
        while (at < end) {
            const ssize_t got = pread(fd_, room_ + at, end - at, static_cast<off_t>(at));
            if (got <= 0) break;
            at += static_cast<uint64_t>(got);
        }
    }
    return found;
}

std::shared_ptr<const Image> Image::of(std::vector<uint8_t> bytes) {
    std::shared_ptr<Image> image(new Image);
    image->owned_ = std::move(bytes);
    image->bytes_ = Bytes(image->owned_);
    return image->parse() ? image : nullptr;
}

std::shared_ptr<const Image> Image::vdso() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find("[vdso]") == std::string::npos) continue;
        char* rest = nullptr;
        const uint64_t start = std::strtoull(line.c_str(), &rest, 16);
        const uint64_t end = *rest == '-' ? std::strtoull(rest + 1, nullptr, 16) : start;
        const auto* data = reinterpret_cast<const uint8_t*>(start);
        return of(std::vector<uint8_t>(data, data + (end - start)));
    }
    return nullptr;
}

Image::~Image() {
    if (room_) munmap(room_, bytes_.size());
    if (fd_ >= 0) ::close(fd_);
}

Bytes Image::at(uint64_t address, uint64_t size) const {
    for (const Segment& segment : segments_) {
        const uint64_t inside = address - segment.address;  // wraps below the segment
        if (inside >= segment.size) continue;
        const bool fits = size <= segment.size - inside && size <= largest_section;
        return fits ? stored(segment.offset + inside, size) : Bytes{};
    }
    return {};
}

const Section* Image::section(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(),
                                    [&](const Section& each) { return each.name == name; });
    return found == sections_.end() ? nullptr : &*found;
}

Bytes Image::contents(const Section& section) const {
    if (section.type == SHT_NOBITS || section.size > largest_section) return {};
    return stored(section.offset, section.size);
}

bool Image::bias(uint64_t start, uint64_t offset, uint64_t& bias) const {
    constexpr uint64_t page = 4095;  // a mapping begins with the page in which its segment begins
    for (const Segment& segment : segments_) {
        const uint64_t first = segment.offset & ~page;
        if (!segment.executable || offset < first) continue;
        if (offset - first >= segment.size + (segment.offset - first)) continue;
        bias = start - offset + segment.offset - segment.address;
        return true;
    }
    return false;
}

bool Image::parse() {
    Cursor cursor(stored(0, sizeof(Elf64_Ehdr)));
    const auto header = cursor.read<Elf64_Ehdr>();
    if (!cursor.ok() || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    machine_ = header.e_machine;
    if (header.e_phentsize == sizeof(Elf64_Phdr)) parse_segments(header.e_phoff, header.e_phnum);
    if (header.e_shentsize == sizeof(Elf64_Shdr))
        parse_sections(header.e_shoff, header.e_shnum, header.e_shstrndx);
    for (const Section& section : sections_) {
        if (section.type == SHT_NOTE && build_id_.empty()) parse_notes(contents(section));
        if (section.name != ".gnu_debuglink") continue;
        Cursor link(contents(section));
        debug_link_.name = link.text();
        link.skip((4 - link.position() % 4) % 4);
        debug_link_.crc = link.read<uint32_t>();
        if (!link.ok()) debug_link_ = {};
    }
    return true;
}

void Image::parse_segments(uint64_t offset, uint16_t count) {
    Cursor cursor(stored(offset, count * sizeof(Elf64_Phdr)));
    for (uint16_t i = 0; i < count && segments_.size() < most_segments; ++i) {
        const auto header = cursor.read<Elf64_Phdr>();
        if (!cursor.ok()) return;
        if (part(bytes_, header.p_offset, header.p_filesz).empty() || header.p_vaddr + header.p_filesz < header.p_vaddr) continue;
        if (header.p_type == PT_LOAD)
            segments_.push_back({header.p_vaddr, header.p_offset, header.p_filesz,
                                 (header.p_flags & PF_X) != 0});
        if (header.p_type == PT_GNU_EH_FRAME) {
            frame_header_ = header.p_vaddr;
            frame_header_size_ = header.p_filesz;
        }
        if (header.p_type == PT_NOTE && build_id_.empty() && header.p_filesz <= piece)
            parse_notes(stored(header.p_offset, header.p_filesz));
    }
}

void Image::parse_sections(uint64_t offset, uint16_t count, uint16_t names) {
    if (offset == 0) return;
    Cursor cursor(stored(offset, count * sizeof(Elf64_Shdr)));
    std::vector<uint32_t> starts;
    for (uint16_t i = 0; i < count; ++i) {
        const auto header = cursor.read<Elf64_Shdr>();
        if (!cursor.ok()) break;
        starts.push_back(header.sh_name);
        sections_.push_back({{}, header.sh_type, header.sh_link, header.sh_addr, header.sh_offset,
                             header.sh_size});
    }
    if (names >= sections_.size()) return;
    const Bytes texts = contents(sections_[names]);
    for (size_t i = 0; i < sections_.size(); ++i) sections_[i].name = Cursor(texts, starts[i]).text();
}

void Image::parse_notes(Bytes notes) {
    Cursor cursor(notes);
    while (cursor.ok() && cursor.left() >= sizeof(Elf64_Nhdr)) {
        const auto note = cursor.read<Elf64_Nhdr>();
        const Bytes name = cursor.take(note.n_namesz);
        cursor.skip((4 - note.n_namesz % 4) % 4);
        const Bytes text = cursor.take(note.n_descsz);
        if (!cursor.ok()) return;
        if (note.n_type == NT_GNU_BUILD_ID && name.size() == 4 &&
            std::memcmp(name.data(), "GNU", 4) == 0 && text.size() <= 64) {
            build_id_ = hexadecimal(text);
            return;
        }
        cursor.skip(std::min<uint64_t>((4 - note.n_descsz % 4) % 4, cursor.left()));
    }
}

}  // namespace gnomon::frames
