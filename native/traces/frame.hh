// What the headers of a frame say: Ethernet, VLAN, ARP, IP, TCP, UDP, ICMP, RoCE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gnomon::traces {

struct Frame {
    uint8_t type = 0, flags = 0, protocol = 0, opcode = 0;
    uint16_t ethertype = 0, vlan = 0, sport = 0, dport = 0, window = 0;
    uint32_t seq = 0, ack = 0, qp = 0;
    int kind = 0;  // of its addresses: 4, 6, 2 for MAC, 0 for none
    const uint8_t* source = nullptr;
    const uint8_t* destination = nullptr;
};

Frame decode_frame(uint16_t link, const uint8_t* data, size_t bytes);
bool known_link(uint16_t link);

}  // namespace gnomon::traces
