"""The architectures that a guest can have: what Debian, QEMU and compilers call them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """One kind of machine, and what differs between it and the others."""

    name: str  # as Debian calls it
    machine: str  # as the kernel calls it
    qemu_package: str
    compiler_package: str
    parameters: str  # of the kernel: where its console is, and what emulation needs
    serial: str  # QEMU's device with ports to the host
    modules: tuple[str, ...]  # of the kernel; what they need comes with them
    wheels: tuple[str, ...]  # platforms of Python libraries that run there

    @property
    def triple(self) -> str:
        """What compilers call it, and folders of libraries."""
        return f"{self.machine}-linux-gnu"

    @property
    def qemu(self) -> str:
        """The program that emulates it."""
        return f"qemu-system-{self.machine}"

    @property
    def compiler(self) -> str:
        """The compiler for it; on a machine of the same kind Debian's own has this name too."""
        return f"{self.triple}-g++"

    @property
    def kernel(self) -> str:
        """The package that stands for the newest kernel."""
        return f"linux-image-cloud-{self.name}"

    @property
    def extension(self) -> str:
        """The file name of the project's extension module."""
        return f"_native.cpython-311-{self.triple}.so"


ARM64 = Architecture(
    name="arm64",
    machine="aarch64",
    qemu_package="qemu-system-arm",
    compiler_package="g++-aarch64-linux-gnu",
    parameters="console=ttyAMA0",
    serial="virtio-serial-device",
    modules=("virtio_mmio", "virtio_console"),
    wheels=("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
)
AMD64 = Architecture(
    name="amd64",
    machine="x86_64",
    qemu_package="qemu-system-x86",
    compiler_package="g++-x86-64-linux-gnu",
    # On a busy host an emulated timer is late, which a kernel that checks it takes for a defect.
    parameters="console=ttyS0 no_timer_check",
    serial="virtio-serial-pci",
    modules=("virtio_pci", "virtio_console"),
    wheels=("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
)
