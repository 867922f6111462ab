"""Archives are read back by an independent reader of the format, written from its description."""

import stat

from . import cpio


def read(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Entries by name: mode and data."""
    entries: dict[str, tuple[int, bytes]] = {}
    position = 0
    while True:
        assert archive[position : position + 6] == b"070701"
        fields = [int(archive[position + 6 + 8 * i : position + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name_start = position + 110
        name = archive[name_start : name_start + name_size - 1].decode()
        data_start = -(-(name_start + name_size) // 4) * 4
        if name == "TRAILER!!!":
            return entries
        entries[name] = (mode, archive[data_start : data_start + size])
        position = -(-(data_start + size) // 4) * 4


def test_entries_come_back() -> None:
    tree = {
        "a/b/file": cpio.file(b"12345"),
        "a/run": cpio.file(b"#!", executable=True),
        "link": cpio.link("a/b"),
        "root": cpio.folder(0o700),
    }
    archive = cpio.archive(tree)
    assert read(archive) == {
        "a": (stat.S_IFDIR | 0o755, b""),
        "a/b": (stat.S_IFDIR | 0o755, b""),
        "a/b/file": (stat.S_IFREG | 0o644, b"12345"),
        "a/run": (stat.S_IFREG | 0o755, b"#!"),
        "link": (stat.S_IFLNK | 0o777, b"a/b"),
        "root": (stat.S_IFDIR | 0o700, b""),
    }
    assert len(archive) % 4 == 0, "another archive may follow"


def test_a_folder_comes_before_what_is_in_it() -> None:
    names = list(read(cpio.archive({"a/b": cpio.file(b""), "a-b": cpio.file(b"")})))
    assert names.index("a") < names.index("a/b")


def test_equal_trees_give_equal_bytes() -> None:
    one, two = cpio.file(b"1"), cpio.file(b"2")
    assert cpio.archive({"x": one, "y": two}) == cpio.archive({"y": two, "x": one})
