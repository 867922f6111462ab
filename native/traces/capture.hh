// Captures of networks, pcap and pcapng, to columns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace gnomon::traces {

// Types of records, as src/gnomon/recording/traces/types.py names them.
enum Type : uint8_t {
    kFrame = 64, kArp = 65, kIpv4 = 66, kIpv6 = 67, kTcp = 68, kUdp = 69, kIcmp = 70, kRoce = 71,
    kShort = 72,
};

struct Interface {
    uint16_t link;       // its type, as captures number them
    uint32_t snap;
    bool binary = false; // resolution: 2^-power or 10^-power s
    uint8_t power = 6;
    int64_t offset = 0;  // s
    std::string name;
};

// An address: 4, 6 or 2 (a MAC address), then its bytes.
using Address = std::array<uint8_t, 17>;

struct Packets {
    std::vector<int64_t> time;
    std::vector<uint16_t> lc, src, dst, ethertype, vlan, sport, dport, window;
    std::vector<uint8_t> type, flags, protocol, opcode;
    std::vector<uint32_t> source, destination, length, seq, ack, qp;
    std::vector<uint64_t> ends;
    std::string payload;
};

class CaptureDecoder {
public:
    // Decodes the whole records in what has come so far; the rest waits for more.
    void feed(const char* data, size_t bytes);
    Packets take();
    size_t pending() const { return rest_.size(); }        // bytes of a record that is not whole
    bool begun() const { return format_ != Format::none; }
    uint64_t decoded() const { return decoded_; }
    uint64_t untimed() const { return untimed_; }           // packets of pcapng without a time
    const std::vector<Interface>& interfaces() const { return interfaces_; }
    const std::vector<Address>& addresses() const { return addresses_; }

private:
    enum class Format { none, pcap, pcapng };
    size_t header(const char* at, size_t have);
    size_t record(const char* at, size_t have);
    size_t block(const char* at, size_t have);
    void section(const char* at, size_t have);
    void interface(const char* body, size_t bytes);
    void packet(size_t interface, int64_t time, const char* data, uint32_t captured,
                uint32_t length);
    int64_t nanoseconds(const Interface& interface, uint64_t ticks) const;
    uint32_t number(int kind, const uint8_t* bytes, size_t size);
    [[noreturn]] void fail(const std::string& what) const;
    uint16_t u16(const char* at) const;
    uint32_t u32(const char* at) const;

    struct Hash {
        size_t operator()(const Address& address) const;
    };
    Format format_ = Format::none;
    bool swapped_ = false, nano_ = false;
    std::string rest_;
    uint64_t at_ = 0, decoded_ = 0, untimed_ = 0;
    int64_t last_ = 0;
    size_t first_interface_ = 0;  // of this section
    std::vector<Interface> interfaces_;
    std::vector<Address> addresses_;
    std::unordered_map<Address, uint32_t, Hash> numbers_;
    Packets out_;
};

// The records of a pcap file, without its header, with times in ns.
std::string pcap_records(const int64_t* time, const uint32_t* length, const uint64_t* ends,
                         const char* payload, size_t count);

}  // namespace gnomon::traces
