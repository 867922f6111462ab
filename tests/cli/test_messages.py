"""`gnomon messages` on the command line."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from gnomon.analysis.messages import bench_of

from .running import Run, command_line, environment, wait_for_children

QUICK = ("-m", "poll,futex,pipe", "-d", "300ms", "-e", "none")
APP = '[application]\nname = "store"\ncompute = "12us"\nthreads = 2\nrequest = 64\n'


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> str:
    from gnomon.analysis.messages import bench

    path = tmp_path_factory.mktemp("messages") / "bench.gnomon"
    sizes = [0, 64, 1024, 4096, 65536]
    names = ["poll", "futex", "tcp"]
    bench(mechanisms=names, sizes=sizes, duration="500ms", events=[], output=path)
    return str(path)


def test_a_benchmark_is_shown_and_recorded(gnomon: Run, tmp_path: Path) -> None:
    done = gnomon("messages", "bench", *QUICK, "--sizes", "0,64,4KiB", "-o", "bench")
    assert done.code == 0, done.err
    assert done.out.startswith("Fastest round trips: ")
    assert "timings: 3 mechanisms, " in done.out
    assert ": one core; the two take turns" in done.out
    assert "an empty system call takes" in done.out
    assert "regime siblings: no two CPUs to use are" in done.out or "siblings (CPUs" in done.out
    assert "recorded in bench.gnomon" in done.out
    again = gnomon("messages", "bench", "--from", "bench.gnomon")
    assert again.out.rstrip() == done.out.partition("recorded in")[0].rstrip()
    some = gnomon(
        "messages", "bench", "--from", "bench.gnomon", "-m", "futex", "--regimes", "same-core"
    )
    assert "futex" in some.out
    assert "pipe" not in some.out
    absent = gnomon("messages", "bench", "--from", "bench.gnomon", "-m", "tcp")
    assert absent.code == 2
    assert "nothing was measured of 'tcp': there is poll, futex, pipe" in absent.err
    twice = gnomon("messages", "bench", *QUICK, "-o", "bench")
    assert twice.code == 1
    assert "already exists" in twice.err


def test_a_benchmark_as_json_and_html(gnomon: Run, benchmark: str, tmp_path: Path) -> None:
    done = gnomon("messages", "bench", "--from", benchmark, "--json", "--html", "b.html")
    results = done.json["results"]
    assert done.json["command"] == "messages bench"
    row = results["rows"][0]
    assert row["mechanism"] == "poll"
    trip = row["round_trips"][0]
    assert trip["p50"]["low"] <= trip["p50"]["value"] <= trip["p50"]["high"]
    assert sum(trip["histogram"]["counts"]) == trip["samples"]
    assert {"regime", "shown", "signs", "places"} == set(results["orders"][0])
    curve = next(each for each in results["curves"] if each["mechanism"] == "tcp")
    assert curve["hockney"]["segments"][0]["startup"]["value"] > 0
    assert {"latency", "send", "receive", "gap", "gap_per_byte", "error"} == set(curve["loggp"])
    page = (tmp_path / "b.html").read_text()
    assert "Fastest round trips" in page
    assert "Histograms of round trips" in page
    assert "At sizes held out of the fits" in page


def test_interference_gives_a_recommendation(gnomon: Run, tmp_path: Path) -> None:
    line = ("messages", "interfere", "-d", "200ms", "--rounds", "3", "--pauses", "50us")
    done = gnomon(*line, "--html", "i.html")
    assert done.code == 0, done.err
    # The last one on a machine that is busy with other things.
    said = ("block with", "wait with", "no recommendation: compute was faster beside")
    assert done.out.split("\n", 1)[0].lower().startswith(said)
    assert "Pause of 50 µs before each message" in done.out
    assert "reference" in done.out
    assert "Compute lost against the mean round trip" in (tmp_path / "i.html").read_text()
    results = gnomon(*line, "--json").json["results"]
    assert {row["mechanism"] for row in results["rows"]} == {"poll-pause", "spin-block", "futex"}
    assert {row["pays"] for row in results["rows"]} <= {"never", "always", "below", "reference"}


def test_a_prediction(gnomon: Run, benchmark: str, tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(APP)
    line = ("messages", "predict", "--from", benchmark, "--app", "app.toml", "-m", "futex")
    done = gnomon(*line, "--html", "p.html")
    assert done.code == 0, done.err
    assert done.out.startswith("ESTIMATED user-level notification would make 'store'")
    assert "futex (used now)" in done.out
    assert "user-level notification would make" in (tmp_path / "p.html").read_text()
    results = gnomon(*line, "--json").json["results"]
    assert results["rows"][0]["mechanism"] == "futex"
    assert results["application"]["threads"] == 2


def test_a_prediction_from_what_was_counted(gnomon: Run, benchmark: str, tmp_path: Path) -> None:
    counted = gnomon(
        *("count", "--on", "cluster:uln", "-e", "messages-sent,bytes-sent,task-clock"),
        *("-o", "run.gnomon", "--", "program:key-value", "requests=20"),
    )
    assert counted.code == 0, counted.err
    (tmp_path / "app.toml").write_text(
        '[application]\nname = "kv"\n[recording]\npath = "run.gnomon"\n'
        'messages = "messages-sent"\nbytes = "bytes-sent"\n'
    )
    line = ("messages", "predict", "--from", benchmark, "--app", "app.toml", "--json")
    application = gnomon(*line).json["results"]["application"]
    assert application["compute"]["value"] > 1000
    assert application["request"] == application["response"] > 0
    assert application["exchanges"] > 0
    (tmp_path / "app.toml").write_text('[recording]\npath = "run.gnomon"\nmessages = "cycles"\n')
    done = gnomon(*line)
    assert done.code == 2
    assert "'cycles' has no value in the recording" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[application]\ncompute = "-12us"', "a time cannot be negative"),
        ("[application]\ncompute = 12", "must be a time such as"),
        ("", "is missing"),
    ],
)
def test_applications_with_mistakes(
    gnomon: Run, benchmark: str, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "app.toml").write_text(text)
    done = gnomon("messages", "predict", "--from", benchmark, "--app", "app.toml")
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("bench", "-m", "futx"), "did you mean futex"),
        (("bench", "-m", ","), "mechanisms is empty"),
        (("bench", "--regimes", "lazy"), "not a regime"),
        (("bench", "--sizes", "2MiB"), "sizes go from 0 to 1048576"),
        (("bench", "--sizes", "big"), "not a size"),
        (("bench", "--cpus", "0,9999"), "cannot be used here"),
        (("bench", "-d", "0s"), "longer than zero"),
        (("bench", "--from", "nowhere.gnomon"), "nowhere.gnomon"),
        (("bench", "--from", "a", "-o", "b"), "choose one"),
        (("bench", "--from", "a", "-d", "5s"), "--duration is for measuring"),
        (("bench", "--html", "no/where.html"), "there is no folder"),
        (("interfere", "--pauses", "never"), "not a duration"),
        (("interfere", "--rounds", "1"), "3 to 1000"),
        (("predict", "--from", "nowhere.gnomon", "--app", "nowhere.toml"), "nowhere.toml"),
        (("simulate", "no-such-program"), "no-such-program"),
    ],
)
def test_wrong_arguments(gnomon: Run, line: tuple[str, ...], said: str) -> None:
    done = gnomon("messages", *line)
    assert done.code in (1, 2)
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("word", ["bench", "interfere", "predict", "simulate", "dirt", "fit"])
def test_every_word_has_help_with_examples(gnomon: Run, word: str) -> None:
    done = gnomon("messages", word, "--help")
    assert done.code == 0
    assert f"examples:\n  gnomon messages {word}" in done.out


def test_the_old_name_answers_with_the_new_one(gnomon: Run) -> None:
    done = gnomon("notify", "bench")
    assert done.code == 2
    assert done.err == "gnomon: `gnomon notify` is now `gnomon messages`.\n"


def test_in_python_the_words_are_the_same(benchmark: str) -> None:
    import gnomon as gn

    rows = gn.messages.bench_of(benchmark, mechanisms="poll,tcp").rows
    assert {row.mechanism for row in rows} == {"poll", "tcp"}
    some = gn.messages.simulate("ping-pong", ["rounds=10"], on="uln,cluster:polling")
    assert [each.name for each in some.clusters] == ["uln", "polling"]
    for word in ("bench", "interfere", "predict", "fit", "simulate", "dirt"):
        assert callable(getattr(gn.messages, word))


def test_a_word_is_needed(gnomon: Run) -> None:
    done = gnomon("messages")
    assert done.code == 2
    assert "WORD" in done.err


def test_simulate_and_dirt_are_words(gnomon: Run) -> None:
    assert "ping-pong" in gnomon("messages", "simulate").out
    done = gnomon("messages", "simulate", "ping-pong", "rounds=10", "--json")
    assert done.json["simulated"] is True


def test_an_interrupt_ends_it_without_a_word_and_leaves_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        command_line("messages", "bench", "-m", "poll", "-d", "60s", "-o", "b"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=tmp_path,
    ) as process:
        wait_for_children(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_recording_to_be_replaced_outlives_an_interrupt(benchmark: str, tmp_path: Path) -> None:
    kept = tmp_path / "b.gnomon"
    shutil.copytree(benchmark, kept)
    before = sorted(each.name for each in kept.iterdir())
    with subprocess.Popen(
        command_line("messages", "bench", "-m", "poll", "-d", "60s", "-o", str(kept), "--force"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        wait_for_children(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode == 130
    assert sorted(each.name for each in kept.iterdir()) == before
    done = subprocess.run(
        command_line(*("messages", "bench", *QUICK, "--sizes", "none", "-o", str(kept), "--force")),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {row.mechanism for row in bench_of(kept).rows} == {"poll", "futex", "pipe"}


def test_users_without_rights_can_measure(unprivileged: Run, public: Path) -> None:
    done = unprivileged(
        "messages", "bench", *QUICK, "--sizes", "none", "--regimes", "same-core", "--json"
    )
    assert done.code == 0, done.err
    assert {row["mechanism"] for row in done.json["results"]["rows"]} == {"poll", "futex", "pipe"}


def test_laws_are_fitted_to_a_file(gnomon: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("threads,throughput\n1,0.778\n2,1.36\n3,1.67\n4,2\n8,2.39\n")
    done = gnomon("messages", "fit", "sharing", "t.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("ESTIMATED throughput of n threads")
    found = gnomon("messages", "fit", "sharing", "t.csv", "--json").json["results"]["parameters"]
    assert found["knee"]["low"] < found["knee"]["value"] < found["knee"]["high"]
    assert gnomon("messages", "fit", "sharing", "t.csv", "--json").json["results"]["doubt"] == ""
    (tmp_path / "line.csv").write_text("threads,throughput\n1,1\n2,2\n3,3\n4,4\n")
    assert "straight line fits as well" in gnomon("messages", "fit", "sharing", "line.csv").out
    (tmp_path / "flat.csv").write_text("threads,throughput\n1,5\n2,5\n3,5\n4,5\n")
    assert "one thread has all of the core" in gnomon("messages", "fit", "sharing", "flat.csv").out
    rows = "".join(f"{n},{t},{100 + 7 * n + 3 * t}\n" for n in (2, 4, 8) for t in (1, 2, 4))
    (tmp_path / "m.csv").write_text("nodes,threads,misses\n" + rows)
    done = gnomon("messages", "fit", "misses", "m.csv", "--json")
    assert done.json["results"]["parameters"]["per_node"]["value"] == pytest.approx(7)
    (tmp_path / "i.csv").write_text("a,b,c\n10,11,9\n10,9.5,10.5\n11,10,9.8\n")
    done = gnomon("messages", "fit", "imbalance", "i.csv")
    assert "the last of 3 nodes" in done.out
    assert "of 6" in done.out


def test_what_cannot_be_fitted_is_refused_in_a_sentence(gnomon: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("threads,rate\n1,2\n")
    done = gnomon("messages", "fit", "sharing", "t.csv")
    assert done.code == 2
    assert "has no column 'throughput': it has threads, rate" in done.err
    (tmp_path / "t.csv").write_text("")
    assert "is empty" in gnomon("messages", "fit", "imbalance", "t.csv").err
    assert "there.csv' cannot be read" in gnomon("messages", "fit", "misses", "there.csv").err
