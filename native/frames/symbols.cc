#include "frames/symbols.hh"

#include <algorithm>
#include <cxxabi.h>
#include <cstdlib>
#include <elf.h>
#include <memory>

namespace gnomon::frames {

namespace {

// Stubs of assembly have no size: then the next function, but not further than this.
constexpr uint64_t unsized_reach = 4096;

bool is_function(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol.st_size));
}

}  // namespace

SymbolTable::SymbolTable(std::shared_ptr<const Image> image) : image_(std::move(image)) {
    for (const uint32_t wanted : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}})
        for (const Section& section : image_->sections())
            if (entries_.empty() && section.type == wanted) read(section);
}

void SymbolTable::read(const Section& section) {
    if (section.link >= image_->sections().size()) return;
    texts_ = image_->contents(image_->sections()[section.link]);
    Cursor cursor(image_->contents(section));
    while (cursor.left() >= sizeof(Elf64_Sym)) {
        const auto symbol = cursor.read<Elf64_Sym>();
        if (!is_function(symbol)) continue;
        const auto size = static_cast<uint32_t>(std::min<uint64_t>(symbol.st_size, UINT32_MAX));
        entries_.push_back({symbol.st_value, size, symbol.st_name});
    }
    // Of several names of one address the longest function, then the first name in the table.
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return a.start != b.start ? a.start < b.start : a.size > b.size;
    });
    const auto last = std::unique(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return a.start == b.start;
    });
    entries_.erase(last, entries_.end());
    entries_.shrink_to_fit();
}

Symbol SymbolTable::find(uint64_t address) const {
    const auto after =
        std::upper_bound(entries_.begin(), entries_.end(), address,
                         [](uint64_t value, const Entry& each) { return value < each.start; });
    if (after == entries_.begin()) return {};
    const Entry& entry = *(after - 1);
    const uint64_t reach = entry.size ? entry.size : unsized_reach;
    if (address - entry.start >= reach) return {};
    return {Cursor(texts_, entry.name).text(), entry.start, entry.size};
}

bool SymbolTable::address_of(std::string_view name, uint64_t& address, uint64_t& size) const {
    for (const Section& section : image_->sections()) {
        if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
        if (section.link >= image_->sections().size()) continue;
        const Bytes texts = image_->contents(image_->sections()[section.link]);
        Cursor cursor(image_->contents(section));
        while (cursor.left() >= sizeof(Elf64_Sym)) {
            const auto symbol = cursor.read<Elf64_Sym>();
            if (symbol.st_shndx == SHN_UNDEF || Cursor(texts, symbol.st_name).text() != name)
                continue;
            address = symbol.st_value;
            size = symbol.st_size;
            return true;
        }
    }
    return false;
}

// Header: magic, two zeros, quantum, pointer size, then words: functions, files, start of text,
// and offsets of names, units, files, line programs and of the functions' own table.
GoTable::GoTable(std::shared_ptr<const Image> image) : image_(std::move(image)) {
    constexpr uint32_t go_1_18 = 0xfffffff0, go_1_20 = 0xfffffff1;
    const Section* section = image_->section(".gopclntab");
    if (!section) section = image_->section(".data.rel.ro.gopclntab");
    if (!section) return;
    table_ = image_->contents(*section);
    Cursor cursor(table_);
    const auto magic = cursor.read<uint32_t>();
    cursor.skip(3);
    const auto pointer_size = cursor.read<uint8_t>();
    if ((magic != go_1_18 && magic != go_1_20) || pointer_size != 8) return;
    const auto functions = cursor.read<uint64_t>();
    cursor.skip(8);
    text_ = cursor.read<uint64_t>();
    const auto names = cursor.read<uint64_t>();
    cursor.skip(24);
    const auto data = cursor.read<uint64_t>();
    if (!cursor.ok() || names > table_.size() || data > table_.size()) return;
    // Since 1.22 or so linkers leave this to the loader in files that may lie anywhere.
    if (text_ == 0)
        if (const Section* text = image_->section(".text")) text_ = text->address;
    names_ = table_.subspan(names);
    function_data_ = table_.subspan(data);
    // Pairs of 32 bits, and one more start at the end.
    if (functions < function_data_.size() / 8) functions_ = functions;
}

uint64_t GoTable::entry(uint64_t number) const {
    return text_ + Cursor(function_data_, number * 8).read<uint32_t>();
}

Symbol GoTable::find(uint64_t address) const {
    uint64_t low = 0, high = functions_;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (entry(middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= entry(low)) return {};
    const uint64_t start = entry(low - 1);
    Cursor place(function_data_, (low - 1) * 8 + 4);
    Cursor record(function_data_, place.read<uint32_t>());
    record.skip(4);  // its start, once more
    const auto name = record.read<int32_t>();
    if (!place.ok() || !record.ok() || name < 0) return {};
    return {Cursor(names_, static_cast<uint64_t>(name)).text(), start, entry(low) - start};
}

std::string demangle(std::string_view symbol, size_t longest) {
    // Versions and what compilers add to clones are no part of the scheme.
    std::string name(symbol.substr(0, 8192));
    std::string found;
    if (name.starts_with("_R")) {
        found = demangle_rust(name, longest);
    } else if (name.starts_with("_Z")) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> text(
            abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
        if (text) found = text.get();
        // Rust's older scheme: a C++ name whose last part is a hash.
        constexpr size_t hash = 16;
        const size_t at = found.rfind("::h");
        if (at != std::string::npos && found.size() == at + 3 + hash &&
            found.find_first_not_of("0123456789abcdef", at + 3) == std::string::npos)
            found = unescape_rust(std::string_view(found).substr(0, at));
    }
    if (found.empty()) found = std::move(name);
    if (found.size() > longest) {
        found.resize(longest - 3);
        found += "...";
    }
    return found;
}

}  // namespace gnomon::frames
