// What the Python faces of this room share.
#pragma once

#include <memory>
#include <nanobind/nanobind.h>
#include <string>

#include "frames/call_frames.hh"

namespace gnomon::frames {

void bind_names(nanobind::module_& m);   // bind_frames calls these
void bind_readers(nanobind::module_& m);

// A file by itself, without a process.
struct FrameFile {
    explicit FrameFile(std::shared_ptr<const Image> given)
        : image(std::move(given)), frames(*image) {}
    std::shared_ptr<const Image> image;
    CallFrames frames;
};

inline Bytes bytes_of_object(const nanobind::bytes& bytes) {
    return {reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()};
}

inline nanobind::bytes bytes_object(Bytes bytes) {
    return nanobind::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Names are bytes to the kernel and to linkers; what is not UTF-8 must come back as it was.
inline nanobind::object text_object(std::string_view text) {
    return nanobind::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

}  // namespace gnomon::frames
