"""CPUs from made-up trees of /sys: threads of a core, caches, classes of cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.stress.nodes import read_cpus


def make_cpu(root: Path, number: int, siblings: str, package: int = 0, last: str = "0-7") -> Path:
    """Write what the kernel shows of a CPU with two levels of caches for data."""
    folder = root / f"devices/system/cpu/cpu{number}"
    files = {
        "topology/thread_siblings_list": siblings,
        "topology/physical_package_id": str(package),
        "cache/index0/level": "1",
        "cache/index0/type": "Data",
        "cache/index0/size": "48K",
        "cache/index0/coherency_line_size": "64",
        "cache/index0/shared_cpu_list": siblings,
        "cache/index1/level": "1",
        "cache/index1/type": "Instruction",
        "cache/index1/size": "32K",
        "cache/index2/level": "3",
        "cache/index2/type": "Unified",
        "cache/index2/size": "2M",
        "cache/index2/coherency_line_size": "64",
        "cache/index2/shared_cpu_list": last,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two cores of two threads (0 and 2, 1 and 3), and one of another package."""
    for number, siblings in ((0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")):
        make_cpu(tmp_path, number, siblings, last="0-3")
    make_cpu(tmp_path, 4, "4", 1, last="4")
    return tmp_path


def test_threads_of_a_core_are_known(tree: Path) -> None:
    cpus = read_cpus(range(5), tree)
    assert cpus.has_siblings
    assert cpus[2].siblings == (0, 2)
    assert cpus.one_of_each_core == (0, 1, 4)
    # Where the first of a core is not ours, another is taken.
    assert read_cpus([2, 3, 4], tree).one_of_each_core == (2, 3, 4)


def test_the_nearest_thing_in_common_is_named(tree: Path) -> None:
    cpus = read_cpus(range(5), tree)
    assert cpus.relation(0, 2) == "same core"
    assert cpus.relation(0, 1) == "same L3"
    assert cpus.relation(0, 4) == "other package"


def test_caches_for_data_have_sizes_in_bytes(tree: Path) -> None:
    caches = read_cpus([0], tree)[0].caches
    assert [(cache.level, cache.size, cache.line) for cache in caches] == [
        (1, 48 << 10, 64),
        (3, 2 << 20, 64),
    ]


def test_cores_that_are_alike_are_one_class(tree: Path) -> None:
    (only,) = read_cpus(range(5), tree).classes
    assert only.name == ""
    assert only.cpus == (0, 1, 2, 3, 4)


def test_hybrid_processors_have_named_classes(tree: Path) -> None:
    for name, cpus in (("cpu_core", "0-3"), ("cpu_atom", "4")):
        (tree / "devices" / name).mkdir(parents=True)
        (tree / "devices" / name / "cpus").write_text(f"{cpus}\n")
    found = {each.name: each.cpus for each in read_cpus(range(5), tree).classes}
    assert found == {"performance": (0, 1, 2, 3), "efficiency": (4,)}


def test_capacities_tell_classes_apart_but_not_by_a_few_percent(tree: Path) -> None:
    for number, capacity in enumerate((1024, 1010, 1024, 1010, 400)):
        folder = tree / f"devices/system/cpu/cpu{number}"
        (folder / "cpu_capacity").write_text(f"{capacity}\n")
    found = {each.name for each in read_cpus(range(5), tree).classes}
    assert "capacity 400" in found
    alike = read_cpus(range(4), tree).classes
    assert [each.name for each in alike] == [""]


def test_a_cpu_that_nothing_is_told_of_stands_alone(tmp_path: Path) -> None:
    cpus = read_cpus([7], tmp_path)
    assert cpus[7].siblings == (7,)
    assert cpus[7].caches == ()
    assert not cpus.has_siblings
