#include "traces/frame.hh"

#include "traces/capture.hh"

namespace gnomon::traces {

namespace {

enum Link : uint16_t {
    kNull = 0, kEthernet = 1, kRaw = 101, kLoop = 108, kCooked = 113, kRaw4 = 228, kRaw6 = 229,
    kCooked2 = 276,
};
enum Ether : uint16_t {
    kEtherIpv4 = 0x0800, kEtherArp = 0x0806, kEtherVlan = 0x8100, kEtherIpv6 = 0x86DD,
    kEtherVlans = 0x88A8, kEtherRoce = 0x8915,
};
constexpr uint16_t kRocePort = 4791;
constexpr int kIpv6Extensions = 8;  // a longer chain is none that is seen outside of attacks

// What is left of a frame; takes nothing that is not there.
struct Bytes {
    const uint8_t* at;
    size_t left;

    bool has(size_t bytes) const { return left >= bytes; }
    void skip(size_t bytes) {
        at += bytes;
        left -= bytes;
    }
};

uint16_t u16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
uint32_t u24(const uint8_t* at) { return static_cast<uint32_t>(at[0] << 16 | at[1] << 8 | at[2]); }
uint32_t u32(const uint8_t* at) { return static_cast<uint32_t>(u16(at)) << 16 | u16(at + 2); }

void roce(Frame& frame, Bytes rest) {  // the base transport header of InfiniBand
    if (!rest.has(12)) return;
    frame.type = kRoce;
    frame.opcode = rest.at[0];
    frame.qp = u24(rest.at + 5);
    frame.seq = u24(rest.at + 9);
}

void transport(Frame& frame, Bytes rest) {
    if (frame.protocol == 6 && rest.has(20)) {
        frame.type = kTcp;
        frame.sport = u16(rest.at);
        frame.dport = u16(rest.at + 2);
        frame.seq = u32(rest.at + 4);
        frame.ack = u32(rest.at + 8);
        frame.flags = rest.at[13];
        frame.window = u16(rest.at + 14);
    } else if (frame.protocol == 17 && rest.has(8)) {
        frame.type = kUdp;
        frame.sport = u16(rest.at);
        frame.dport = u16(rest.at + 2);
        rest.skip(8);
        if (frame.dport == kRocePort) roce(frame, rest);
    } else if ((frame.protocol == 1 || frame.protocol == 58) && rest.has(4)) {
        frame.type = kIcmp;
        frame.opcode = rest.at[0];
    } else if (frame.protocol == 6 || frame.protocol == 17) {
        frame.type = kShort;
    }
}

void ipv4(Frame& frame, Bytes rest) {
    frame.type = kShort;
    if (!rest.has(20) || rest.at[0] >> 4 != 4) return;
    const size_t header = (rest.at[0] & 15u) * 4;
    if (header < 20 || !rest.has(header)) return;
    frame.type = kIpv4;
    frame.kind = 4;
    frame.protocol = rest.at[9];
    frame.source = rest.at + 12;
    frame.destination = rest.at + 16;
    const bool later_fragment = u16(rest.at + 6) & 0x1FFF;
    rest.skip(header);
    if (!later_fragment) transport(frame, rest);
}

void ipv6(Frame& frame, Bytes rest) {
    frame.type = kShort;
    if (!rest.has(40) || rest.at[0] >> 4 != 6) return;
    frame.type = kIpv6;
    frame.kind = 6;
    frame.source = rest.at + 8;
    frame.destination = rest.at + 24;
    uint8_t next = rest.at[6];
    rest.skip(40);
    for (int i = 0; i < kIpv6Extensions; ++i) {
        const bool fragment = next == 44;
        if (next != 0 && next != 43 && next != 60 && !fragment) break;
        if (!rest.has(8)) {
            frame.type = kShort;
            return;
        }
        const size_t bytes = fragment ? 8 : (rest.at[1] + 1u) * 8;
        const bool later_fragment = fragment && u16(rest.at + 2) >> 3;
        next = rest.at[0];
        if (later_fragment || !rest.has(bytes)) {
            frame.protocol = next;
            if (!later_fragment) frame.type = kShort;
            return;
        }
        rest.skip(bytes);
    }
    frame.protocol = next;
    transport(frame, rest);
}

void network(Frame& frame, uint16_t ethertype, Bytes rest) {
    frame.ethertype = ethertype;
    frame.type = kFrame;
    if (ethertype == kEtherIpv4) ipv4(frame, rest);
    if (ethertype == kEtherIpv6) ipv6(frame, rest);
    if (ethertype == kEtherArp) frame.type = rest.has(8) ? kArp : kShort;
    if (ethertype == kEtherRoce) {
        frame.type = kShort;
        if (!rest.has(40)) return;
        rest.skip(40);  // the global route header
        roce(frame, rest);
    }
}

void by_version(Frame& frame, Bytes rest) {
    const int version = rest.left ? rest.at[0] >> 4 : 0;
    network(frame, version == 4 ? kEtherIpv4 : version == 6 ? kEtherIpv6 : 0, rest);
}

void ethernet(Frame& frame, Bytes rest) {
    if (!rest.has(14)) return;
    const uint8_t* addresses = rest.at;
    uint16_t type = u16(rest.at + 12);
    rest.skip(14);
    for (int tags = 0; tags < 2 && (type == kEtherVlan || type == kEtherVlans); ++tags) {
        if (!rest.has(4)) return;
        frame.vlan = u16(rest.at) & 0x0FFF;
        type = u16(rest.at + 2);
        rest.skip(4);
    }
    network(frame, type, rest);
    if (!frame.kind) {
        frame.kind = 2;
        frame.destination = addresses;
        frame.source = addresses + 6;
    }
}

}  // namespace

bool known_link(uint16_t link) {
    return link == kNull || link == kEthernet || link == kRaw || link == kLoop ||
           link == kCooked || link == kRaw4 || link == kRaw6 || link == kCooked2;
}

Frame decode_frame(uint16_t link, const uint8_t* data, size_t bytes) {
    Frame frame;
    frame.type = kShort;
    Bytes rest{data, bytes};
    switch (link) {
    case kEthernet: ethernet(frame, rest); break;
    case kRaw:
    case kRaw4:
    case kRaw6: by_version(frame, rest); break;
    case kNull:
    case kLoop:
        if (!rest.has(4)) break;
        rest.skip(4);
        by_version(frame, rest);
        break;
    case kCooked:
        if (!rest.has(16)) break;
        rest.skip(16);
        network(frame, u16(rest.at - 2), rest);
        break;
    case kCooked2:
        if (!rest.has(20)) break;
        rest.skip(20);
        network(frame, u16(rest.at - 20), rest);
        break;
    default: frame.type = kFrame;
    }
    return frame;
}

}  // namespace gnomon::traces
