// Mutants of files that the reader of stacks takes, under the sanitizers: `make fuzz-frames`.
//   fuzz COUNT [SEED] [FILE...]
// Each mutant is a copy of a real file, or of a table made here, with a few bytes changed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "frames/remote.hh"
#include "frames/symbols.hh"
#include "frames/walk.hh"

using namespace gnomon::frames;

namespace {

using Random = std::mt19937_64;
using Buffer = std::vector<uint8_t>;

uint64_t counted = 0;  // of what mutants said, so that no work can be left out

template <typename T>
void put(Buffer& to, T value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof value);
}

void mutate(Buffer& bytes, size_t start, size_t size, Random& random) {
    if (size == 0) return;
    static constexpr uint64_t extremes[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000,
                                            0xffffffff, 0x7fffffffffffffff, ~uint64_t{0}};
    for (uint64_t changes = 1 + random() % 8; changes; --changes) {
        const size_t at = start + random() % size;
        const size_t room = start + size - at;
        const size_t width = std::min<size_t>(size_t{1} << random() % 4, room);
        const uint64_t value = random() % 2 ? random() : extremes[random() % std::size(extremes)];
        switch (random() % 3) {
            case 0: bytes[at] ^= static_cast<uint8_t>(1u << random() % 8); break;
            case 1: std::memcpy(bytes.data() + at, &value, width); break;
            default: {
                const size_t from = start + random() % size;
                const size_t length = std::min<size_t>(random() % 32, start + size - std::max(at, from));
                std::memmove(bytes.data() + at, bytes.data() + from, length);
            }
        }
    }
}

// Parts of a file that matter, as (place, size): headers, unwind tables, symbols.
std::vector<std::pair<size_t, size_t>> parts_of(const Buffer& bytes) {
    std::vector<std::pair<size_t, size_t>> parts{{0, 64}, {64, 56 * 12}};
    const auto image = Image::of(bytes);
    if (!image) return parts;
    for (const Section& each : image->sections()) {
        static constexpr std::string_view wanted[] = {
            ".eh_frame", ".eh_frame_hdr", ".symtab", ".dynsym", ".strtab",
            ".dynstr",   ".shstrtab",     ".gnu_debuglink", ".note.gnu.build-id"};
        if (std::find(std::begin(wanted), std::end(wanted), each.name) == std::end(wanted)) continue;
        if (image->contents(each).empty()) continue;
        parts.emplace_back(each.offset, each.size);
        if (each.name.starts_with(".eh_frame"))  // these are what most mutants are about
            for (int again = 0; again < 3; ++again) parts.emplace_back(each.offset, each.size);
    }
    const size_t sections = 64 * image->sections().size();
    if (sections < bytes.size()) parts.emplace_back(bytes.size() - sections, sections);
    return parts;
}

void try_image(Buffer bytes, Random& random) {
    const auto image = Image::of(std::move(bytes));
    if (!image) return;
    counted += image->build_id().size() + image->debug_link().name.size();
    auto library = std::make_shared<Library>();
    const uint32_t object = library->add_image("mutant", image);
    Space space(library, 1);
    const uint64_t start = 0x555500000000;
    for (const Segment& segment : image->segments()) {
        if (!segment.executable) continue;
        const uint64_t offset = segment.offset & ~uint64_t{4095};
        const uint64_t size = std::min<uint64_t>(segment.size + 4096, uint64_t{1} << 32);
        space.map_object({start + offset, size, offset, 0, "mutant"}, object);
    }
    const Module& module = *library->objects()[object].module;
    std::vector<uint64_t> starts = module.call_frames().starts();
    const SymbolTable symbols(image);
    Buffer stack(2048);
    Walk walk;
    for (int round = 0; round < 24; ++round) {
        const uint64_t address =
            (starts.empty() ? random() : starts[random() % starts.size()]) + random() % 64;
        counted += module.call_frames().row(address).valid;
        counted += symbols.find(address).name.size();
        if (space.mappings().empty()) continue;
        const uint64_t bias = space.mappings()[0].bias;
        Registers registers;
        for (size_t i = 0; i < register_count; ++i) registers.set(i, 0x7ffff000 + random() % 2048);
        registers.set(stack_register, 0x7ffff000);
        registers.set(return_register, address + bias);
        if (random() % 4 == 0) registers.known = 1u << stack_register | 1u << return_register;
        // Return addresses of real functions, and pointers into the stack.
        for (size_t at = 0; at + 8 <= stack.size(); at += 8) {
            const uint64_t word = random() % 2 && !starts.empty()
                                      ? starts[random() % starts.size()] + bias + random() % 64
                                      : 0x7ffff000 + random() % 2048;
            std::memcpy(stack.data() + at, &word, sizeof word);
        }
        walk_stack(space, {0x7ffff000, Bytes(stack)}, registers, {random() % 2 == 0, false}, walk);
        counted += walk.steps.size();
    }
}

// A file with a table of Go's functions alone.
Buffer go_file(Buffer table) {
    Buffer file(64);
    const size_t place = file.size();
    file.insert(file.end(), table.begin(), table.end());
    const size_t names = file.size();
    static const char texts[] = "\0.gopclntab\0.shstrtab\0.text";
    file.insert(file.end(), texts, texts + sizeof texts);
    const size_t sections = file.size();
    const auto section = [&](uint32_t name, uint32_t type, uint64_t address, uint64_t offset,
                             uint64_t size) {
        put(file, name);
        put(file, type);
        put(file, uint64_t{2});
        put(file, address);
        put(file, offset);
        put(file, size);
        put(file, uint64_t{0});
        put(file, uint64_t{8});
        put(file, uint64_t{0});
    };
    section(0, 0, 0, 0, 0);
    section(1, 1, 0x500000, place, table.size());
    section(12, 3, 0, names, sizeof texts);
    section(22, 1, 0x401000, 0, 0);
    static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    std::memcpy(file.data(), ident, sizeof ident);
    const uint16_t header[] = {2, 62};
    std::memcpy(file.data() + 16, header, sizeof header);
    std::memcpy(file.data() + 40, &sections, 8);
    const uint16_t counts[] = {64, 56, 0, 64, 4, 2};
    std::memcpy(file.data() + 52, counts, sizeof counts);
    return file;
}

Buffer go_table() {
    constexpr uint32_t functions = 20, header = 72;
    Buffer names, data;
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < functions; ++i) {
        places.push_back(static_cast<uint32_t>(names.size()));
        const std::string name = "main.function" + std::to_string(i);
        names.insert(names.end(), name.c_str(), name.c_str() + name.size() + 1);
    }
    for (uint32_t i = 0; i <= functions; ++i) {
        put(data, i * 64);
        if (i < functions) put(data, functions * 8 + 4 + i * 8);
    }
    for (uint32_t i = 0; i < functions; ++i) {
        put(data, i * 64);
        put(data, places[i]);
    }
    Buffer table;
    put(table, uint32_t{0xfffffff1});
    put(table, uint32_t{0x08010000});
    put(table, uint64_t{functions});
    put(table, uint64_t{0});
    put(table, uint64_t{0x401000});
    put(table, uint64_t{header});
    for (int i = 0; i < 3; ++i) put(table, uint64_t{header});
    put(table, uint64_t{header + names.size()});
    table.insert(table.end(), names.begin(), names.end());
    table.insert(table.end(), data.begin(), data.end());
    return table;
}

void try_go(Buffer file, Random& random) {
    const auto image = Image::of(std::move(file));
    if (!image) return;
    const GoTable table(image);
    for (int i = 0; i < 32; ++i) counted += table.find(0x401000 + random() % 2048).name.size();
}

std::string text_of(const Buffer& bytes) { return {bytes.begin(), bytes.end()}; }

void try_texts(Random& random) {
    static const std::string map =
        "7f0010 40 first\n0x7f0020 20 a name\n7f0000 1000 whole\n7f0011 2 x\n";
    static const std::string names[] = {
        "_ZNSt6vectorIiSaIiEE9push_backEOi",
        "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
        "_RNvMs2_NtCs4X4t9plMPHF_9addr2line6lookupINtB5_13LoopingLookupINtNtCsgEmf_4core6result6R"
        "esultjhEE3new",
        "_RINvCs6xxl1lAjzDf_1a3anyFPhOTlyEFUKCPaElFG_RL0_hERL0_hEjEB2_",
        "_RINvCs6xxl1lAjzDf_1a3genDNtNtCsgEmfK2I1SDS_4core3fmt7DisplayEL_Kc27_Kb0_Kl5_EB2_",
        "_RNvNtCs1_1au8gre_1ka5bung"};
    static const std::string lines = "7f12-7f34 r-xp 00001000 08:01 123   /no/such file\n"
                                     "7f34-7f56 r-xp 00000000 00:00 0\n";
    const auto mutant = [&](const std::string& text) {
        Buffer bytes(text.begin(), text.end());
        mutate(bytes, 0, bytes.size(), random);
        return text_of(bytes);
    };
    const PerfMap perf(mutant(map));
    for (int i = 0; i < 16; ++i) counted += perf.find(0x7f0000 + random() % 128).name.size();
    for (const std::string& each : names) counted += demangle(mutant(each), 64 + random() % 512).size();
    auto library = std::make_shared<Library>();
    Space space(library, 1);
    space.read(mutant(lines));
    counted += space.mappings().size();
    WaitStack wait;
    counted += parse_syscall(mutant("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffc10 0x7f0010\n"), wait);
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::vector<Buffer> files;
    for (int i = 3; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (const auto vdso = Image::vdso())
        files.emplace_back(vdso->bytes().begin(), vdso->bytes().end());
    std::vector<std::vector<std::pair<size_t, size_t>>> parts;
    for (const Buffer& each : files) parts.push_back(parts_of(each));
    const Buffer table = go_table();
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < count; ++i) {
        Random random(seed * 1000003 + i);  // any mutant can be made again by its number
        const size_t which = random() % files.size();
        Buffer bytes = files[which];
        for (uint64_t rounds = 1 + random() % 3; rounds; --rounds) {
            const auto [place, size] = parts[which][random() % parts[which].size()];
            if (place < bytes.size())
                mutate(bytes, place, std::min(size, bytes.size() - place), random);
        }
        if (random() % 16 == 0) bytes.resize(random() % bytes.size());
        try_image(std::move(bytes), random);
        Buffer go = go_file(table);
        mutate(go, 64, table.size(), random);
        try_go(std::move(go), random);
        try_texts(random);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%llu mutants of each kind of %zu files, seed %llu: no fault, %.1f s (%llu)\n",
                static_cast<unsigned long long>(count), files.size(),
                static_cast<unsigned long long>(seed), took.count(),
                static_cast<unsigned long long>(counted));
    return 0;
}
