from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock
from rich.console import Console
from toy_experiment import ToySettings, provenance_of, toy_experiment, toy_work

from longfair.errors import UsageError
from longfair.runs import manifest, verify, worker
from longfair.runs.experiment import Arm, Experiment, Run, plan
from longfair.runs.keys import run_key
from longfair.runs.progress import ConsoleReporter, Reporter
from longfair.runs.runner import Summary, run_all
from longfair.runs.store import Store

DRIVER = Path(__file__).with_name("driver.py")
PATIENCE = 180.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    folder = tmp_path / "diary"
    folder.mkdir()
    return folder


def in_threads(runs: list[Run], store: Store, reporter: Reporter | None = None) -> Summary:
    with ThreadPoolExecutor(2) as executor:
        return run_all(runs, store, executor=executor, workers=2, reporter=reporter)


def with_trouble(trouble: str) -> list[Run]:
    """One run in trouble between two that are well."""
    arms = (
        Arm("before", "as_coded", ToySettings(), toy_work),
        Arm("troubled", "as_coded", ToySettings(bias=0.2, trouble=trouble), toy_work),
        Arm("after", "as_coded", ToySettings(bias=0.3), toy_work),
    )
    one = {"smoke": 1}
    return plan(Experiment("toy/trouble", "Trouble", {"smoke": arms}, one, one), "smoke")


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Summary]:
    """The toy experiment as two processes executed it, and what was said of it then."""
    store = Store(tmp_path_factory.mktemp("two") / "results")
    return store, run_all(plan(toy_experiment(), "smoke"), store, workers=2)


def test_runs_are_executed_once_and_then_kept(by_two: tuple[Store, Summary]) -> None:
    store, summary = by_two
    runs = plan(toy_experiment(), "smoke")
    assert sorted(summary.finished) == sorted(run.name for run in runs)
    assert summary.exit_code == 0
    again = run_all(runs, store, workers=2)
    assert again.finished == []
    assert again.kept == [run.name for run in runs]


def test_results_do_not_depend_on_the_executor(
    tmp_path: Path, by_two: tuple[Store, Summary]
) -> None:
    runs = plan(toy_experiment(), "smoke")
    one, threads = Store(tmp_path / "one"), Store(tmp_path / "threads")
    run_all(runs, one, workers=1)
    in_threads(runs, threads)
    tables = [each.load(experiment="toy/lending") for each in (one, by_two[0], threads)]
    assert len(tables[0]) == 3 * len(runs)
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_core_seconds_are_those_of_the_run_also_beside_another(store: Store) -> None:
    arms = (
        Arm("idle", "as_coded", ToySettings(seconds=1.0), toy_work),
        Arm("busy", "as_coded", ToySettings(trouble="is busy"), toy_work),
    )
    one = {"smoke": 1}
    in_threads(plan(Experiment("toy/pair", "Pair", {"smoke": arms}, one, one), "smoke"), store)
    spent = store.provenance(experiment="toy/pair").set_index("method")["core_seconds"]
    assert spent["busy"] >= 0.5
    assert spent["idle"] < 0.25


def test_provenance_is_recorded(store: Store) -> None:
    in_threads(plan(toy_experiment(seconds=0.05), "smoke", seeds=1), store)
    row = store.provenance(experiment="toy/lending").iloc[0]
    assert row["wall_seconds"] >= 0.05
    assert 0 <= row["core_seconds"] < row["wall_seconds"] + 1
    assert row["steps"] == 100
    assert row["steps_per_second"] == pytest.approx(100 / row["wall_seconds"])
    assert row["cores"] >= 1
    assert row["processor"]
    assert row["python"] == ".".join(map(str, sys.version_info[:3]))
    assert row["versions"]["numpy"]
    assert row["versions"]["numba"]
    assert row["revisions"] == {"toy": 1}
    assert row["finished"].endswith("+00:00")
    assert len(row["key"]) == 64
    assert {"commit", "dirty", "longfair", "config", "source"} <= set(row.index)


def test_a_run_of_two_experiments_is_executed_once(store: Store, diary: Path) -> None:
    first = toy_experiment(diary=str(diary))
    arms = tuple(replace(arm, method=f"{arm.method}-again") for arm in first.arms["smoke"])
    other = (*arms, Arm("new", "as_coded", ToySettings(bias=0.7, diary=str(diary)), toy_work))
    second = replace(first, id="toy/sweep", arms={"smoke": other, "book": other})
    in_threads(plan(first, "smoke"), store)
    summary = in_threads(plan(second, "smoke"), store)
    assert len(list(diary.iterdir())) == 8
    assert sorted(summary.finished) == [f"toy/sweep/smoke/new.as_coded.00{seed}" for seed in (0, 1)]
    assert set(store.states(plan(second, "smoke"))["status"]) == {"fresh"}
    copied = store.load(experiment="toy/sweep", methods=["fair-again"])
    assert copied["value"].equals(store.load(experiment="toy/lending", methods=["fair"])["value"])
    told = store.provenance(experiment="toy/sweep").query("seed == 0")
    origin = told.set_index("method")["same_as"]
    assert origin["fair-again"] == "toy/lending/smoke/fair.as_coded.000"
    assert pd.isna(origin["new"])


def test_a_run_of_two_profiles_is_executed_once(store: Store, diary: Path) -> None:
    first = toy_experiment(diary=str(diary))
    both = replace(first, arms=first.arms | {"book": first.arms["smoke"]})
    in_threads(plan(both, "smoke", seeds=1), store)
    executed = len(list(diary.iterdir()))
    summary = in_threads(plan(both, "book", seeds=1), store)
    assert not summary.finished
    assert len(list(diary.iterdir())) == executed
    told = store.provenance(experiment="toy/lending", profile="book")
    for method, variant, same_as in zip(told.method, told.variant, told.same_as, strict=True):
        assert same_as == f"toy/lending/smoke/{method}.{variant}.000"


def test_a_run_of_two_variants_is_executed_once(store: Store, diary: Path) -> None:
    toy = toy_experiment(diary=str(diary))
    arm = toy.arms["smoke"][0]
    arms = (replace(arm, variant="as_coded"), replace(arm, variant="as_published"))
    both = replace(toy, arms=toy.arms | {"smoke": arms})
    first, second = plan(both, "smoke", seeds=1)
    in_threads([first], store)
    assert not in_threads([first, second], store).finished
    assert len(list(diary.iterdir())) == 1
    told = store.provenance(experiment=toy.id).set_index("variant")["same_as"]
    assert pd.isna(told["as_coded"])
    assert told["as_published"] == first.name


def test_a_changed_setting_is_computed_again(store: Store) -> None:
    in_threads(plan(toy_experiment(), "smoke", seeds=1), store)
    changed = plan(toy_experiment(seconds=0.001), "smoke", seeds=1)
    assert len(in_threads(changed, store).finished) == 3
    assert all(store.status(run) == "fresh" for run in changed)


@pytest.mark.parametrize(
    ("trouble", "message", "code"),
    [
        ("raises", "RuntimeError: the loan officer left", 1),
        ("bad input", "interest is -1: use 0 or more", 2),
        ("nan", "bias (curve) at step 50 is nan", 1),
        ("not a table", "the work returned a int", 1),
    ],
)
def test_a_run_that_fails_is_reported_and_the_others_go_on(
    store: Store, trouble: str, message: str, code: int
) -> None:
    runs = with_trouble(trouble)
    summary = in_threads(runs, store)
    assert len(summary.finished) == 2
    assert list(summary.failed) == [runs[1].name]
    assert message in summary.failed[runs[1].name]
    assert "\n" not in summary.failed[runs[1].name]
    assert summary.exit_code == code
    assert store.failure_path(runs[1]).read_text()
    assert [store.status(run) for run in runs] == ["fresh", "missing", "fresh"]


def test_a_run_whose_code_cannot_be_read_fails_before_it_is_computed(
    monkeypatch: pytest.MonkeyPatch, diary: Path
) -> None:
    def unread(arm: Arm) -> str:
        raise UsageError("a part was not defined in a file")

    monkeypatch.setattr(worker, "arm_digest", unread)
    arm = Arm("fair", "as_coded", ToySettings(diary=str(diary)), toy_work)
    answer = worker.execute(Run("toy/lending", "smoke", arm, 0))
    assert isinstance(answer, worker.Failed)
    assert answer.usage
    assert not any(diary.iterdir())


def test_the_traceback_of_a_failed_run_is_kept_until_it_succeeds(store: Store) -> None:
    runs = with_trouble("raises")
    in_threads(runs, store)
    assert "Traceback" in store.failure_path(runs[1]).read_text()
    assert "toy_experiment.py" in store.failure_path(runs[1]).read_text()
    in_threads(with_trouble(""), store)
    assert not store.failure_path(runs[1]).exists()


def test_a_worker_that_dies_takes_no_other_run_with_it(store: Store, diary: Path) -> None:
    arms = (
        Arm("slow", "as_coded", ToySettings(0.1, 0.0, str(diary), "is slow at first"), toy_work),
        Arm("deadly", "as_coded", ToySettings(0.2, 0.0, str(diary), "dies in company"), toy_work),
        Arm("later", "as_coded", ToySettings(), toy_work),
    )
    one = {"smoke": 1}
    runs = plan(Experiment("toy/trouble", "Trouble", {"smoke": arms}, one, one), "smoke")
    events: list[str] = []
    back: list[str] = []

    class Listening(Reporter):
        def started(self, run: Run) -> None:
            events.append(f"start {run.arm.method}")

        def finished(self, run: Run, seconds: float) -> None:
            events.append(f"finish {run.arm.method}")

        def failed(self, run: Run, line: str) -> None:
            events.append(f"fail {run.arm.method}")

        def put_back(self, run: Run) -> None:
            back.append(run.arm.method)

    summary = run_all(runs, store, workers=2, reporter=Listening())
    assert back == ["slow", "deadly"]
    # Both that were in flight are suspects, and are tried again one after the other.
    assert events == [
        "start slow", "start deadly",
        "start slow", "finish slow",
        "start deadly", "fail deadly",
        "start later", "finish later",
    ]  # fmt: skip
    assert "worker process died" in summary.failed[runs[1].name]
    assert summary.exit_code == 1


def test_a_worker_with_other_code_is_not_believed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_key(run: Run) -> object:
        return replace(run_key(run), revisions={"toy": 2})

    monkeypatch.setattr("longfair.runs.worker.run_key", other_key)
    runs = plan(toy_experiment(), "smoke", seeds=1)
    summary = in_threads(runs, store)
    assert summary.finished == []
    assert "the worker has other code or versions" in summary.failed[runs[0].name]
    assert summary.exit_code == 1
    assert store.status(runs[0]) == "missing"


def test_a_damaged_result_is_set_aside_and_computed_again(store: Store) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    in_threads(runs, store)
    store.path(runs[0]).write_bytes(b"damage")
    notes: list[str] = []

    class Listening(Reporter):
        def note(self, line: str) -> None:
            notes.append(line)

    summary = in_threads(runs, store, Listening())
    assert summary.finished == [runs[0].name]
    assert store.status(runs[0]) == "fresh"
    aside = store.path(runs[0]).with_name(f"{store.path(runs[0]).name}.damaged")
    assert aside.read_bytes() == b"damage"
    assert len(notes) == 1
    assert "\n" not in notes[0]
    assert aside.name in notes[0]


@pytest.mark.parametrize(
    "name",
    [
        "fair.as_coded.0000.parquet",  # its own seed, written otherwise
        "fair.as_coded.007.parquet",  # another seed
        "other.as_coded.000.parquet",  # another method
        "copy of fair.as_coded.000.parquet",
    ],
)
def test_a_copy_of_a_result_is_set_aside(store: Store, name: str) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    in_threads(runs, store)
    first = next(run for run in runs if run.arm.method == "fair")
    copy = store.path(first).with_name(name)
    copy.write_bytes(store.path(first).read_bytes())
    assert len(list(verify.problems(store))) == 1
    notes: list[str] = []

    class Listening(Reporter):
        def note(self, line: str) -> None:
            notes.append(line)

    summary = in_threads(runs, store, Listening())
    assert summary.kept == [run.name for run in runs]
    assert notes == [f"{copy} is not the result of a run; it is now {name}.damaged"]
    assert list(verify.problems(store)) == []
    assert store.status(first) == "fresh"


def test_a_link_in_a_results_place_is_set_aside(store: Store) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    in_threads(runs, store)
    link = store.path(runs[0]).with_name("fair.as_coded.009.parquet")
    link.symlink_to(store.path(runs[0]))
    in_threads(runs, store)
    assert not link.is_symlink()
    assert list(verify.problems(store)) == []


def test_what_killed_runners_left_is_swept(store: Store) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    locks = store.lock_path(runs[0]).parent
    locks.mkdir(parents=True)
    stray, held = locks / "toy.lending.smoke.gone.as_coded.000.lock", locks / "held.lock"
    stray.touch()
    lock = FileLock(held, thread_local=False)
    lock.acquire()
    folder = store.path(runs[0]).parent
    folder.mkdir(parents=True)
    old, young = folder / ".fair.as_coded.000.parquet.1.tmp", folder / ".fair.parquet.2.tmp"
    elsewhere = [store.root / name / ".half.tmp" for name in (".checkpoints", ".failures", "")]
    for path in (old, young, *elsewhere):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    for path in (old, *elsewhere):
        os.utime(path, (0, 0))
    in_threads(runs, store)
    lock.release()
    assert not stray.exists()
    assert held.exists()
    assert not any(path.exists() for path in (old, *elsewhere))
    assert young.exists()


def test_a_result_after_which_the_disk_was_full_is_entered_by_the_next_start(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    in_threads(runs[:1], store)
    checkpoint = store.checkpoint(runs[1])

    def no_room(root: Path, name: str, line: manifest.Line) -> None:
        checkpoint.write({}, {})
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(manifest, "add", no_room)
        assert list(in_threads(runs[1:2], store).failed) == [runs[1].name]
    assert store.status(runs[1]) == "fresh"
    assert len(list(verify.problems(store))) == 1
    notes: list[str] = []

    class Listening(Reporter):
        def note(self, line: str) -> None:
            notes.append(line)

    summary = in_threads(runs[:2], store, Listening())
    assert summary.kept == [run.name for run in runs[:2]]
    assert notes == [f"{runs[1].name} is stored and was not in the manifest; now it is"]
    assert list(verify.problems(store)) == []
    assert not checkpoint.path.exists()
    assert not store.failure_path(runs[1]).exists()


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_on_a_full_disk_nothing_more_is_started(
    store: Store, diary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    class Listening(Reporter):
        def note(self, line: str) -> None:
            notes.append(line)

    runs = plan(toy_experiment(seconds=0.05, diary=str(diary)), "smoke", seeds=4)
    monkeypatch.setattr(Store, "write", full)
    summary = in_threads(runs, store, Listening())
    started = sum(executed(diary).values())
    assert 1 <= started <= 4 < len(runs)  # two at a time, and two that wait beside them
    assert len(summary.failed) == started
    assert summary.finished == []
    (note,) = notes
    assert note.startswith(f"No space left on device in {store.root}: {len(runs) - started} runs")


def test_a_run_that_another_runner_holds_is_left_to_it(store: Store) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    other = store.lock_path(runs[0])
    other.parent.mkdir(parents=True)
    lock = FileLock(other, thread_local=False)
    lock.acquire()

    def finish_elsewhere() -> None:
        time.sleep(1.0)
        table = toy_work(runs[0].arm.config, runs[0].seed)
        store.write(runs[0], table, provenance_of(runs[0]))
        lock.release()

    thread = threading.Thread(target=finish_elsewhere)
    thread.start()
    summary = in_threads(runs, store)
    thread.join()
    assert summary.kept == [runs[0].name]
    assert sorted(summary.finished) == sorted(run.name for run in runs[1:])


def test_a_run_that_another_runner_gave_up_is_taken_over(store: Store) -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1)
    store.lock_path(runs[0]).parent.mkdir(parents=True)
    lock = FileLock(store.lock_path(runs[0]), thread_local=False)
    lock.acquire()
    timer = threading.Timer(1.0, lock.release)
    timer.start()
    summary = in_threads(runs, store)
    timer.join()
    assert len(summary.finished) == 3


def test_at_most_so_many_runs_are_in_flight(store: Store, diary: Path) -> None:
    flying, most = set(), []

    class Counting(Reporter):
        def started(self, run: Run) -> None:
            flying.add(run.name)
            most.append(len(flying))

        def finished(self, run: Run, seconds: float) -> None:
            flying.remove(run.name)

    with ThreadPoolExecutor(8) as executor:
        runs = plan(toy_experiment(seconds=0.01), "smoke", seeds=4)
        run_all(runs, store, executor=executor, workers=3, reporter=Counting())
    assert max(most) == 3


def threads_of_worker(settings: ToySettings, seed: int) -> object:
    import torch
    from toy_experiment import THREADS_AT_IMPORT, toy_table

    return toy_table(float(THREADS_AT_IMPORT or 0) + 10 * torch.get_num_threads())


def test_workers_have_one_thread_and_the_environment_is_as_before_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    arm = Arm("counting", "as_coded", ToySettings(), threads_of_worker)  # type: ignore[arg-type]  # any settings do
    one = {"smoke": 1}
    experiment = Experiment("toy/threads", "Threads", {"smoke": (arm,)}, one, one)
    summary = run_all(plan(experiment, "smoke"), store, workers=1)
    assert summary.failed == {}
    assert store.load(experiment="toy/threads")["value"].iloc[-1] == 11.0
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"executor": ThreadPoolExecutor(1)}, "number of workers"),
        ({"cluster": "tcp://127.0.0.1:1"}, "no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
    ],
)
def test_bad_options_are_explained(
    store: Store, options: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longfair.runs.pools.CLUSTER_TIMEOUT", "1s")
    runs = plan(toy_experiment(), "smoke", seeds=1)
    with pytest.raises(UsageError, match=message) as caught:
        run_all(runs, store, **options)  # type: ignore[arg-type]  # wrong on purpose
    assert "\n" not in str(caught.value)
    assert all(store.status(run) == "missing" for run in runs)


def test_a_cluster_without_its_package_is_explained(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="needs the package 'distributed'"):
        run_all(plan(toy_experiment(), "smoke", seeds=1), store, cluster="tcp://127.0.0.1:1")


def test_workers_with_several_threads_are_refused(store: Store) -> None:
    distributed = pytest.importorskip("distributed", reason="the optional cluster package")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    runs = plan(toy_experiment(), "smoke", seeds=1)
    with cluster, pytest.raises(UsageError, match=r"more than one thread.*--nthreads 1"):
        run_all(runs, store, cluster=cluster.scheduler_address)
    assert all(store.status(run) == "missing" for run in runs)


def test_a_dask_cluster_executes_runs(store: Store) -> None:
    distributed = pytest.importorskip("distributed", reason="the optional cluster package")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster:
        runs = plan(toy_experiment(), "smoke", seeds=2)
        summary = run_all(runs, store, cluster=cluster.scheduler_address)
    assert len(summary.finished) == 6


def test_an_unwritable_store_stops_everything_before_it_starts(tmp_path: Path, diary: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    runs = plan(toy_experiment(diary=str(diary)), "smoke", seeds=1)
    with pytest.raises(UsageError, match="cannot write to the store"):
        in_threads(runs, Store(tmp_path / "file" / "results"))
    assert list(diary.iterdir()) == []


def test_lines_are_printed_where_there_is_no_terminal(store: Store, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        reporter = ConsoleReporter(Console(file=file))
        in_threads(with_trouble("raises"), store, reporter)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "3 runs to execute, 0 already stored and fresh"
    assert len(lines) == 4
    assert sum(line.startswith("failed: toy/trouble/smoke/troubled") for line in lines) == 1
    assert sum("done in" in line and "left" in line for line in lines) == 2


# --- killed at any moment ---------------------------------------------------------------------


def start_driver(
    store: Store, diary: Path, seeds: int, workers: int, seconds: float = 0.0, trouble: str = ""
) -> subprocess.Popen[str]:
    command = [sys.executable, str(DRIVER), str(diary), str(seconds), trouble]
    options = ["--store", str(store.root), "--seeds", str(seeds), "--workers", str(workers)]
    return subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A job in the background of a shell ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def executed(diary: Path) -> Counter[str]:
    return Counter(note.read_text() for note in diary.iterdir())


def workers_of(diary: Path) -> set[int]:
    return {int(note.name.partition(".")[0]) for note in diary.iterdir()}


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def wait_until(condition: object, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]  # a function without arguments
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


def finished_files(store: Store) -> list[Path]:
    return sorted(store.root.glob("*/*/*/*.parquet"))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGINT, 130),
    ],
)
def test_killed_in_the_middle_nothing_finished_is_lost(
    store: Store, diary: Path, number: signal.Signals, code: int
) -> None:
    held, seeds, trouble = diary.with_name("held"), 2, "waits while held"
    held.touch()  # all arms but the first wait, so the signal comes in the middle on any machine
    driver = start_driver(store, diary, seeds, workers=2, trouble=trouble)
    wait_until(
        lambda: finished_files(store) and len(workers_of(diary)) == 2,
        "a run is stored and both workers had one",
    )
    if number == signal.SIGINT:
        os.killpg(driver.pid, number)  # as the terminal does: to the workers too
    else:
        driver.send_signal(number)
    _, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == code
    if code > 0:
        assert errors.startswith("longfair: stopped: finished runs are kept")
        assert errors.count("\n") == 1
    wait_until(lambda: not any(map(is_alive, workers_of(diary))), "the workers are dead")
    held.unlink()
    runs = plan(toy_experiment(diary=str(diary), trouble=trouble), "smoke", seeds=seeds)
    states = [store.status(run) for run in runs]
    assert set(states) == {"fresh", "missing"}
    kept = {path: path.stat().st_mtime_ns for path in finished_files(store)}
    told = io.StringIO()
    again = in_threads(runs, store, ConsoleReporter(Console(file=told, width=200)))
    assert again.exit_code == 0
    assert f"{len(kept)} already stored and fresh" in told.getvalue()
    assert all(store.status(run) == "fresh" for run in runs)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    assert not list(store.root.rglob("*.tmp"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("times", [1, 2])
def test_a_first_request_to_stop_waits_until_a_run_is_stored_and_a_second_does_not(
    store: Store, number: signal.Signals, times: int
) -> None:
    after = []

    class Impatient(Reporter):
        def finished(self, run: Run, seconds: float) -> None:
            for _ in range(times):
                signal.raise_signal(number)
            after.append(run)

    runs = plan(toy_experiment(), "smoke", seeds=4)
    # A shell starts what runs in the background with some signals ignored, these tests among it.
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            in_threads(runs, store, Impatient())
    finally:
        signal.signal(number, before)
    assert caught.value.args == (number,)
    assert len(after) == (times == 1)
    assert 1 <= len(finished_files(store)) < len(runs)


@pytest.mark.parametrize("times", [1, 2])
def test_a_request_to_stop_is_heard_while_an_object_is_destroyed(
    store: Store, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Destroyed:
        """Python only reports what is raised while an object is destroyed."""

        def __del__(self) -> None:
            for _ in range(times):
                signal.raise_signal(signal.SIGTERM)

    class Unlucky(Reporter):
        def __init__(self) -> None:
            self.first = True

        def finished(self, run: Run, seconds: float) -> None:
            # Two runs can end in one moment; the requests come with the first of them.
            first, self.first = self.first, False
            if first:
                Destroyed()

    swallowed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", swallowed.append)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            in_threads(plan(toy_experiment(), "smoke", seeds=4), store, Unlucky())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert bool(swallowed) == (times == 2)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_is_ignored_stays_ignored(store: Store, number: signal.Signals) -> None:
    class Nohup(Reporter):
        def finished(self, run: Run, seconds: float) -> None:
            signal.raise_signal(number)

    runs = plan(toy_experiment(), "smoke", seeds=2)
    before = signal.signal(number, signal.SIG_IGN)
    try:
        summary = in_threads(runs, store, Nohup())
    finally:
        signal.signal(number, before)
    assert len(summary.finished) == len(runs)


def test_two_runners_share_a_store_without_doing_anything_twice(store: Store, diary: Path) -> None:
    drivers = [start_driver(store, diary, seeds=5, workers=1, seconds=0.1) for _ in range(2)]
    for driver in drivers:
        driver.communicate(timeout=PATIENCE)
    assert [driver.returncode for driver in drivers] == [0, 0]
    counts = executed(diary)
    assert len(counts) == 15
    assert set(counts.values()) == {1}
    assert len(workers_of(diary)) == 2


def test_a_full_disk_is_told_where_a_stored_twin_is_to_be_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = plan(toy_experiment(), "smoke", seeds=1, methods=["fair"])
    in_threads([run], store)
    other = replace(run, profile="book")
    assert store.twin(other) is not None
    monkeypatch.setattr(Store, "write", full)
    summary = in_threads([other], store)
    assert list(summary.failed) == [other.name]
    assert summary.exit_code == 1
    assert store.status(other) == "missing"
