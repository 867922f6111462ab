"""The simulated PMU: few counters of few bits in front of everything a machine counts.

Modules: `model` (what a PMU is), `description` (PMUs as TOML files), `ledger` (what events are
made of), `programming` (which events fit together), `bank` (counters while a program runs).
"""
