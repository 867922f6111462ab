// The Python faces of the domains; each adds its classes and functions to the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_account(nanobind::module_& m);
void bind_advice(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_estimate(nanobind::module_& m);
void bind_fabric(nanobind::module_& m);
void bind_frames(nanobind::module_& m);
void bind_kalman(nanobind::module_& m);
void bind_learning_kalman(nanobind::module_& m);  // bind_kalman calls it
void bind_machine(nanobind::module_& m);
void bind_machine_programs(nanobind::module_& m);
void bind_messages(nanobind::module_& m);
void bind_monitor(nanobind::module_& m);
void bind_notify(nanobind::module_& m);
void bind_pages(nanobind::module_& m);
void bind_perf(nanobind::module_& m);
void bind_program(nanobind::module_& m);
void bind_regions(nanobind::module_& m);
void bind_segments(nanobind::module_& m);
void bind_sweep(nanobind::module_& m);
void bind_stress(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_traces(nanobind::module_& m);
void bind_workloads(nanobind::module_& m);
