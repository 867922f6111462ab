#include "traces/capture.hh"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "traces/check.hh"
#include "traces/frame.hh"

namespace gnomon::traces {

namespace {

constexpr uint32_t kLongest = 1 << 24;       // of a packet or block; captures stop at 256 KiB
constexpr size_t kInterfaces = 1024;
constexpr uint32_t kMicro = 0xA1B2C3D4, kNano = 0xA1B23C4D, kSection = 0x0A0D0D0A;
constexpr uint32_t kOrder = 0x1A2B3C4D;
constexpr uint32_t kManyHosts = 0xFFFF;      // what src and dst say of hosts beyond 65,535

uint32_t padded(uint32_t bytes) { return (bytes + 3) & ~3u; }

uint32_t raw32(const char* at) {
    uint32_t value;
    std::memcpy(&value, at, 4);
    return value;
}

}  // namespace

size_t CaptureDecoder::Hash::operator()(const Address& address) const {
    return digest(address.data(), address.size());
}

uint16_t CaptureDecoder::u16(const char* at) const {
    uint16_t value;
    std::memcpy(&value, at, 2);
    return swapped_ ? __builtin_bswap16(value) : value;
}

uint32_t CaptureDecoder::u32(const char* at) const {
    const uint32_t value = raw32(at);
    return swapped_ ? __builtin_bswap32(value) : value;
}

void CaptureDecoder::fail(const std::string& what) const {
    throw std::invalid_argument(what + " at byte " + std::to_string(at_) + ", after " +
                                std::to_string(decoded_) + " packets");
}

void CaptureDecoder::feed(const char* data, size_t bytes) {
    rest_.append(data, bytes);
    size_t used = 0;
    for (;;) {
        const char* at = rest_.data() + used;
        const size_t have = rest_.size() - used;
        const size_t took = format_ == Format::none   ? header(at, have)
                            : format_ == Format::pcap ? record(at, have)
                                                      : block(at, have);
        if (!took) break;
        used += took;
        at_ += took;
    }
    rest_.erase(0, used);
}

size_t CaptureDecoder::header(const char* at, size_t have) {
    if (have < 12) return 0;
    const uint32_t magic = raw32(at);
    if (magic == kSection) {
        format_ = Format::pcapng;
        return block(at, have);
    }
    for (const uint32_t known : {kMicro, kNano}) {
        if (magic != known && magic != __builtin_bswap32(known)) continue;
        if (have < 24) return 0;
        swapped_ = magic != known;
        nano_ = known == kNano;
        if (u16(at + 4) != 2) fail("a version of pcap that is not known");
        Interface made{static_cast<uint16_t>(u32(at + 20) & 0xFFFF), u32(at + 16)};
        made.power = nano_ ? 9 : 6;
        if (!known_link(made.link))
            fail("packets of link type " + std::to_string(made.link) + ", which is not known,");
        interfaces_.push_back(made);
        format_ = Format::pcap;
        return 24;
    }
    fail("neither pcap nor pcapng");
}

size_t CaptureDecoder::record(const char* at, size_t have) {
    if (have < 16) return 0;
    const uint32_t captured = u32(at + 8), length = u32(at + 12), part = u32(at + 4);
    if (captured > kLongest) fail("a packet of " + std::to_string(captured) + " bytes");
    if (part >= (nano_ ? 1'000'000'000u : 1'000'000u)) fail("a fraction of a second above 1");
    if (have < 16 + static_cast<size_t>(captured)) return 0;
    const int64_t time = u32(at) * 1'000'000'000ll + part * (nano_ ? 1ll : 1000ll);
    packet(0, time, at + 16, captured, length);
    return 16 + captured;
}

size_t CaptureDecoder::block(const char* at, size_t have) {
    if (have < 12) return 0;
    if (raw32(at) == kSection) {
        const uint32_t order = raw32(at + 8);
        if (order != kOrder && order != __builtin_bswap32(kOrder)) fail("a section of no order");
        swapped_ = order != kOrder;
    }
    const uint32_t kind = u32(at), total = u32(at + 4);
    if (total < 12 || total % 4 || total > kLongest)
        fail("a block of " + std::to_string(total) + " bytes");
    if (have < total) return 0;
    if (u32(at + total - 4) != total) fail("a block whose two lengths differ");
    const char* body = at + 8;
    const size_t bytes = total - 12;
    const auto has = [&](size_t needed) {
        if (bytes < needed) fail("a block that is too short for its kind");
    };
    if (kind == kSection) {
        has(16);
        if (u16(body + 4) != 1) fail("a version of pcapng that is not known");
        first_interface_ = interfaces_.size();
    } else if (kind == 1) {
        has(8);
        interface(body, bytes);
    } else if (kind == 6) {  // an enhanced packet
        has(20);
        const size_t which = first_interface_ + u32(body);
        if (which >= interfaces_.size()) fail("a packet of an interface that is not described");
        const uint64_t ticks = static_cast<uint64_t>(u32(body + 4)) << 32 | u32(body + 8);
        const uint32_t captured = u32(body + 12);
        if (captured > bytes - 20) fail("a packet that is longer than its block");
        const int64_t time = nanoseconds(interfaces_[which], ticks);
        packet(which, time, body + 20, captured, u32(body + 16));
    } else if (kind == 3) {  // a simple packet, which has no time: that of the one before it
        has(4);
        if (first_interface_ >= interfaces_.size())
            fail("a packet of an interface that is not described");
        const Interface& which = interfaces_[first_interface_];
        const uint32_t length = u32(body), room = static_cast<uint32_t>(bytes - 4);
        const uint32_t captured = std::min({length, room, which.snap ? which.snap : room});
        ++untimed_;
        packet(first_interface_, last_, body + 4, captured, length);
    } else if (kind == 2) {
        fail("a packet in an obsolete block");
    }
    return total;
}

void CaptureDecoder::interface(const char* body, size_t bytes) {
    if (interfaces_.size() >= kInterfaces) fail("more than 1024 interfaces");
    Interface made{u16(body), u32(body + 4)};
    if (!known_link(made.link))
        fail("packets of link type " + std::to_string(made.link) + ", which is not known,");
    for (size_t at = 8; at + 4 <= bytes;) {
        const uint16_t code = u16(body + at), length = u16(body + at + 2);
        const char* value = body + at + 4;
        if (!code) break;
        if (length > bytes - at - 4) fail("an option that is longer than its block");
        if (code == 2) made.name.assign(value, length);
        if (code == 9 && length == 1) {
            made.binary = *value & 0x80;
            made.power = *value & 0x7F;
        }
        if (code == 14 && length == 8) {
            uint64_t offset;
            std::memcpy(&offset, value, 8);
            made.offset = static_cast<int64_t>(swapped_ ? __builtin_bswap64(offset) : offset);
        }
        at += 4 + padded(length);
    }
    if (made.power > (made.binary ? 63 : 18)) fail("a resolution of time that makes no sense");
    interfaces_.push_back(made);
}

int64_t CaptureDecoder::nanoseconds(const Interface& interface, uint64_t ticks) const {
    __int128 unit = 1;
    for (int i = 0; i < interface.power; ++i) unit *= interface.binary ? 2 : 10;
    const __int128 time = static_cast<__int128>(ticks) * 1'000'000'000 / unit +
                          static_cast<__int128>(interface.offset) * 1'000'000'000;
    if (time > INT64_MAX || time < INT64_MIN) fail("a time beyond the year 2262");
    return static_cast<int64_t>(time);
}

uint32_t CaptureDecoder::number(int kind, const uint8_t* bytes, size_t size) {
    Address address{};
    address[0] = static_cast<uint8_t>(kind);
    std::memcpy(address.data() + 1, bytes, size);
    const auto [found, made] =
        numbers_.try_emplace(address, static_cast<uint32_t>(addresses_.size() + 1));
    if (made) addresses_.push_back(address);
    return found->second;
}

void CaptureDecoder::packet(size_t interface, int64_t time, const char* data, uint32_t captured,
                            uint32_t length) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(data);
    const Frame frame = decode_frame(interfaces_[interface].link, bytes, captured);
    uint32_t source = 0, destination = 0;
    if (frame.kind) {
        const size_t size = frame.kind == 4 ? 4 : frame.kind == 6 ? 16 : 6;
        source = number(frame.kind, frame.source, size);
        destination = number(frame.kind, frame.destination, size);
    }
    out_.time.push_back(last_ = time);
    out_.lc.push_back(static_cast<uint16_t>(interface));
    out_.type.push_back(frame.type);
    out_.flags.push_back(frame.flags);
    out_.src.push_back(static_cast<uint16_t>(std::min(source, kManyHosts)));
    out_.dst.push_back(static_cast<uint16_t>(std::min(destination, kManyHosts)));
    out_.source.push_back(source);
    out_.destination.push_back(destination);
    out_.length.push_back(length);
    out_.ethertype.push_back(frame.ethertype);
    out_.vlan.push_back(frame.vlan);
    out_.protocol.push_back(frame.protocol);
    out_.sport.push_back(frame.sport);
    out_.dport.push_back(frame.dport);
    out_.seq.push_back(frame.seq);
    out_.ack.push_back(frame.ack);
    out_.window.push_back(frame.window);
    out_.opcode.push_back(frame.opcode);
    out_.qp.push_back(frame.qp);
    out_.payload.append(data, captured);
    out_.ends.push_back(out_.payload.size());
    ++decoded_;
}

Packets CaptureDecoder::take() {
    Packets taken;
    std::swap(taken, out_);
    return taken;
}

std::string pcap_records(const int64_t* time, const uint32_t* length, const uint64_t* ends,
                         const char* payload, size_t count) {
    std::string out;
    out.reserve(count * 16 + (count ? ends[count - 1] : 0));
    uint64_t begin = 0;
    for (size_t i = 0; i < count; begin = ends[i], ++i) {
        const auto captured = static_cast<uint32_t>(ends[i] - begin);
        const uint32_t head[4] = {static_cast<uint32_t>(time[i] / 1'000'000'000),
                                  static_cast<uint32_t>(time[i] % 1'000'000'000), captured,
                                  std::max(length[i], captured)};
        out.append(reinterpret_cast<const char*>(head), sizeof head);
        out.append(payload + begin, captured);
    }
    return out;
}

}  // namespace gnomon::traces
