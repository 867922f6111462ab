#include "bindings.hh"

#include <algorithm>
#include <vector>

#include "machine/program.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::machine;

namespace {

// For inspection and tests; the engine pulls by itself.
nb::tuple pull(Feed& feed, size_t room) {
    std::vector<Op> ops(room);
    size_t given = 0;
    Supply supply;
    {
        nb::gil_scoped_release release;
        supply = feed.pull(ops.data(), room, given);
    }
    return nb::make_tuple(
        nb::bytes(reinterpret_cast<const char*>(ops.data()), given * sizeof(Op)),
        static_cast<int>(supply));
}

// Operations that are known beforehand, 16 bytes each.
class FixedFeed : public Feed {
  public:
    explicit FixedFeed(nb::bytes ops)
        : ops_(reinterpret_cast<const Op*>(ops.c_str()),
               reinterpret_cast<const Op*>(ops.c_str()) + ops.size() / sizeof(Op)) {}
    Supply pull(Op* into, size_t room, size_t& given) override {
        given = std::min(room, ops_.size() - at_);
        std::copy_n(ops_.data() + at_, given, into);
        at_ += given;
        return at_ == ops_.size() ? Supply::ended : Supply::more;
    }

  private:
    std::vector<Op> ops_;
    size_t at_ = 0;
};

}  // namespace

void bind_machine_programs(nb::module_& m) {
    nb::class_<Feed>(m, "Feed", "One thread's operations, pulled in pieces.")
        .def("pull", &pull, "room"_a,
             "Return up to `room` operations as bytes, and 0 (more), 1 (pending) or 2 (ended).")
        .def("wait", &Feed::wait, "milliseconds"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Wait until a pending feed has more; False when it still has not.");
    nb::class_<FixedFeed, Feed>(m, "FixedFeed", "Operations that are known beforehand.")
        .def(nb::init<nb::bytes>(), "operations"_a);
}
