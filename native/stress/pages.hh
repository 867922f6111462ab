// Memory on a chosen NUMA node, with small or huge pages, every page of it touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace gnomon::stress {

enum class PageKind { small, transparent, reserved };

class Pages {
public:
    // Without a node (-1) pages go where the kernel puts them. Huge pages are tried in the order
    // reserved, transparent, small; `why_not` says what was in the way.
    Pages(size_t size, int node, bool huge);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    void release();
    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    PageKind kind() const { return kind_; }
    const std::string& why_not() const { return why_not_; }

    // How many pages (of the base size) are on which node; negative numbers are errors of the
    // kernel's, such as -ENOENT for a page that is not there.
    std::map<int, size_t> placement() const;

private:
    bool map_reserved(int node);
    void map_anonymous(int node, bool huge);
    int bind(int node) const;
    int populate() const;

    std::byte* mapping_ = nullptr;  // with what alignment took at both ends
    size_t mapped_ = 0;
    std::byte* data_ = nullptr;
    size_t size_;
    PageKind kind_ = PageKind::small;
    std::string why_not_;
};

}  // namespace gnomon::stress
