// The extension module: each domain adds its part, conversions and errors only.
#include "bindings.hh"

#include <exception>
#include <system_error>

namespace nb = nanobind;

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of gnomon.";
    // A daemon thread that is in a region when the interpreter ends keeps its objects.
    nb::set_leak_warnings(false);
    nb::register_exception_translator(
        [](const std::exception_ptr& pointer, void*) {
            try {
                std::rethrow_exception(pointer);
            } catch (const std::system_error& error) {
                nb::object exception = nb::borrow(PyExc_OSError)(
                    nb::int_(error.code().value()), nb::str(error.what()));
                PyErr_SetObject(PyExc_OSError, exception.ptr());
            }
        });
    bind_program(m);
    bind_perf(m);
    bind_fabric(m);
    bind_frames(m);
    bind_account(m);
    bind_sweep(m);
    bind_regions(m);
    bind_machine_programs(m);
    bind_trace(m);
    bind_traces(m);
    bind_machine(m);
    bind_engine(m);
    bind_kalman(m);
    bind_segments(m);
    bind_stress(m);
    bind_monitor(m);
    bind_estimate(m);
    bind_messages(m);
    bind_notify(m);
    bind_workloads(m);
    bind_pages(m);
    bind_advice(m);
}
