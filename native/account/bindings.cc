// The Python face of what a run is recorded as.
#include "bindings.hh"

#include <cstddef>

#include "account/bindings.hh"
#include "account/record.hh"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gnomon::account;

namespace {

#define PLACE(type, name) places[#name] = nb::int_(offsetof(type, name))

// Where each field lies, and how large a row is, as "": a test compares it to the dtypes of numpy.
nb::dict record_layout() {
    nb::dict all;
    {
        nb::dict places;
        PLACE(Moment, time);
        PLACE(Moment, kind);
        PLACE(Moment, flags);
        PLACE(Moment, cpu);
        PLACE(Moment, pid);
        PLACE(Moment, tid);
        PLACE(Moment, what);
        PLACE(Moment, a);
        PLACE(Moment, b);
        places[""] = nb::int_(sizeof(Moment));
        all["moments"] = places;
    }
    {
        nb::dict places;
        PLACE(Wait, args);
        PLACE(Wait, pc);
        PLACE(Wait, sp);
        PLACE(Wait, timeout);
        PLACE(Wait, words);
        PLACE(Wait, nr);
        PLACE(Wait, wchan);
        PLACE(Wait, links);
        PLACE(Wait, place);
        PLACE(Wait, stack);
        PLACE(Wait, holder);
        PLACE(Wait, holder_stack);
        PLACE(Wait, took);
        PLACE(Wait, timed);
        PLACE(Wait, ending);
        PLACE(Wait, unused);
        places[""] = nb::int_(sizeof(Wait));
        all["waits"] = places;
    }
    {
        nb::dict places;
        PLACE(RecordedFrame, address);
        PLACE(RecordedFrame, function);
        PLACE(RecordedFrame, object);
        PLACE(RecordedFrame, name);
        PLACE(RecordedFrame, quality);
        PLACE(RecordedFrame, exact);
        PLACE(RecordedFrame, unused);
        places[""] = nb::int_(sizeof(RecordedFrame));
        all["frames"] = places;
    }
    all["kinds"] = nb::dict();
    all["kinds"][""] = nb::int_(last_kind);
    return all;
}

#undef PLACE

}  // namespace

void bind_account(nb::module_& m) {
    m.def("record_layout", &record_layout, "Offsets of the fields of each kind of row.");
    bind_recorder(m);
}
