"""Tests that run the package in an emulated machine: arm64 with a real PMU, or x86_64 with HMAT.

QEMU emulates the ARM PMUv3 in software, so hardware events, multiplexing, sampling and NUMA
nodes can be tested on any host. The modules follow the order in which a test needs them:
``architectures`` (what differs between the two), ``packages`` (Debian's), ``cross`` (the
extension), ``image`` (the initramfs), ``qemu`` (boot it, run a job, collect its results);
``lane`` puts them together.
"""


class GuestUnavailable(Exception):  # noqa: N818, a state of the host and no error
    """A prerequisite of the guest lane is missing on this host; the message says which."""
