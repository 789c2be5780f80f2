"""The ablation: what each variant changes, order and resumption of the work, its lock, table and picture."""

import fcntl
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lvc_jax import ablation
from lvc_jax.errors import InputError
from lvc_jax.evaluation.ablation import results, study, work
from lvc_jax.evaluation.ablation.study import DATA, PANELS, VARIANTS, Study
from lvc_jax.outputs import plots, plots_scores
from lvc_jax.training.assemble import make_model_config, make_sample_config
from lvc_jax.training.run_config import default_config
from tests.commands import given

ROOT = Path(__file__).resolve().parents[2]


class Processes:
    """Stands in for `work.call`: writes what the commands would, and fails where it is told to."""

    def __init__(self, fails: dict[int, int] | None = None):
        self.called: list[tuple[str, str]] = []
        self.fails = fails or {}

    def __call__(self, arguments, inherited: int) -> int:
        flags = dict(argument[2:].split("=", 1) for argument in arguments[1:])
        place = Path(flags.get("workdir") or flags["checkpoint"])
        self.called.append((arguments[0].rpartition(".")[2], place.name))
        assert os.fstat(inherited)
        code = self.fails.get(len(self.called), 0)
        if arguments[0] == "lvc_jax.evaluate" and code == 0:
            (place / work.SCORES).mkdir()
            (place / work.SCORES / "report.html").write_text("")
        return code


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(ROOT)
    return Study(DATA["fifty_salads"], "data", tmp_path / "out", 20, ("base", "plain"))


def test_a_failed_run_continues_where_it_was_and_finished_variants_are_left_alone(small: Study) -> None:
    lines: list[str] = []
    first = Processes({3: 75})
    assert work.run(small, lines.append, first) == 75
    assert first.called == [("train", "base"), ("evaluate", "base"), ("train", "plain")]
    assert "train ended with exit code 75; the same command continues" in lines[-1]
    second = Processes()
    assert work.run(small, lines.append, second) == 0
    assert second.called == [("train", "plain"), ("evaluate", "plain")]
    third = Processes()
    assert work.run(small, lines.append, third) == 0
    assert third.called == []
    assert lines[-1] == "[2/2] plain: finished before"


@pytest.mark.parametrize(("code", "expected"), [(2, 2), (-signal.SIGTERM, 75), (-signal.SIGKILL, 1)])
def test_exit_codes(small: Study, code: int, expected: int) -> None:
    assert work.run(small, lambda line: None, Processes({2: code})) == expected


def test_other_settings_and_other_folders_are_refused(small: Study, tmp_path: Path, monkeypatch) -> None:
    work.run(small, lambda line: None, Processes())
    other = Study(small.data, "data", small.output, 30, small.variants)
    with pytest.raises(InputError, match="holds a run with num_train_steps=20, not 30"):
        work.run(other, lambda line: None, Processes())
    moved = Study(small.data, "elsewhere", small.output, 20, small.variants)
    assert work.run(moved, lambda line: None, Processes()) == 0
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"salads\.py: no such config file here"):
        work.run(small, lambda line: None, Processes())


def test_work_that_is_still_going_on_is_waited_for(small: Study) -> None:
    small.output.mkdir()
    lines: list[str] = []
    processes = Processes()
    with open(small.output / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        thread = threading.Thread(target=work.run, args=(small, lines.append, processes))
        thread.start()
        while not lines:
            time.sleep(0.01)
        assert "waiting for it to end" in lines[0]
        assert processes.called == []
    thread.join(10)
    assert len(processes.called) == 4


def test_a_real_process_keeps_the_lock_and_gives_its_exit_code(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "w") as file:
        assert work.call(["json.tool", "--help"], file.fileno()) == 0
        assert work.call(["json.tool", "--no-such-option"], file.fileno()) == 2


def test_variants_change_one_thing_each() -> None:
    done = Study(DATA["moving_shapes"], "d", Path("o"), None)
    base = done.overrides("base")
    expected = {"data_dir": "d", "model.transformer": "deformable", "model.num_queries": 10, "model.use_counter": True}
    assert base == expected
    for name in VARIANTS:
        changed = {key for key, value in done.overrides(name).items() if value != base[key]}
        assert len(changed) == (name != "base")
    shown = {variant for values in PANELS.values() for variant in values.values()}
    assert shown == set(VARIANTS)
    shorter = Study(DATA["moving_shapes"], "d", Path("o"), 1).overrides("base")
    assert (shorter["num_train_steps"], shorter["optimizer.decay_steps"], shorter["optimizer.warmup_steps"]) == (
        1,
        1,
        0,
    )


def test_fewer_queries_than_events_leave_the_counter_as_it_is() -> None:
    config = default_config()
    config.max_events = config.model.max_events = 6
    for variant, slots in (("queries_5", 5), ("queries_20", 6)):
        config.model.update({**VARIANTS[variant]})
        assert make_sample_config(config).max_events == slots
        assert make_sample_config(config).max_count == 6
        assert make_model_config(config, 4, 10).max_events == 6


def test_names_of_variants() -> None:
    assert study.chosen(["plain", "base"]) == ("base", "plain")
    assert study.chosen(None) == tuple(VARIANTS)
    for names in (["q5"], []):
        with pytest.raises(InputError, match=r"--variants: .*choose from base, plain"):
            study.chosen(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "o"}, "--dataset is missing"),
        ({"dataset": "moving_shapes"}, "--output is missing"),
        ({"dataset": "moving_shapes", "output": "o", "variants": ["x"]}, "--variants: x"),
        ({"dataset": "moving_shapes", "output": "o", "data_dir": "nowhere"}, "moving_shapes.*prepare"),
    ],
)
def test_bad_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    with given(ablation, **options), pytest.raises(InputError, match=message):
        ablation.main()
    assert not list(tmp_path.iterdir())


def test_the_table_and_the_picture(small: Study, dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two variants: one says the first event of video a word for word, the other is silent."""
    monkeypatch.setattr(results, "open_dataset", lambda *_: dataset)
    monkeypatch.setattr(results, "meteor_available", lambda: False)
    item = {"timestamp": [0.0, 5.0], "sentence": "he runs", "segment": 0}
    for variant, said in (("base", [item]), ("plain", [])):
        folder = small.folder(variant) / work.SCORES
        counts = {"exact_match": 0.5, "silent_kept": None, "count_accuracy": 0.25}
        folder.mkdir(parents=True)
        (folder / "scores.json").write_text(json.dumps({"step": 20, "rows": {"150": {"model": counts}}}))
        (folder / "predictions_150.json").write_text(json.dumps({"results": {"a": said}}))
    found = results.collect(small, "fifty_salads")
    # Slot 0 of a: "a man runs" (one of two words, shorter: exp(-1/2)) and "he runs" (1); b is missed; c is silent.
    paper = (1 + math.exp(-1 / 2) / 2) / 2 / 2
    assert found["variants"]["base"]["paper"]["LS/BLEU-1"] == pytest.approx(paper, abs=1e-6)
    assert found["variants"]["plain"]["paper"]["LS/BLEU-1"] == 0
    text = results.write(small.output, found)
    assert "| base | deformable | 10 | yes | 20 | " in text
    assert f" / {100 * paper:.1f} |" in text
    assert "| 50.0 | - | 25.0 |" in text
    assert "METEOR, the paper's scorer, is left out" in text
    assert "livescore|mode:reference|" in text
    assert json.loads((small.output / "ablation.json").read_text()) == found
    assert (small.output / "ablation.png").read_bytes().startswith(b"\x89PNG")
    (small.folder("plain") / work.SCORES / "scores.json").write_text("{}")
    with pytest.raises(InputError, match=r"plain.*not the scores of this ablation"):
        results.collect(small, "fifty_salads")


def test_a_picture_of_nothing_is_a_picture() -> None:
    assert plots.png(plots_scores.panels("nothing", {"Queries": {}})).startswith(b"\x89PNG")


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    """A prepared data set of five videos and a config of a tiny model."""
    import numpy as np

    from lvc_jax.data.feature_store import FeatureInfo, save_info
    from tests.test_malformed_inputs import CONFIG, VIDEO

    (tmp_path / "features").mkdir()
    save_info(tmp_path / "features", FeatureInfo("tsn", 2, 1.0, 1.0))
    for split, count in (("train", 3), ("val", 2)):
        content = {f"{split}_{i}": VIDEO for i in range(count)}
        (tmp_path / f"{split}.json").write_text(json.dumps(content), encoding="utf-8")
        for name in content:
            np.save(tmp_path / "features" / f"{name}.npy", np.ones((5, 2), np.float32))
    (tmp_path / "config.py").write_text(CONFIG, encoding="utf-8")
    flags = {"annotations": tmp_path, "features": tmp_path / "features", "data_dir": tmp_path / "data"}
    command = ["-m", "lvc_jax.prepare", "--dataset=youcook2", *(f"--{key}={value}" for key, value in flags.items())]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return tmp_path


# The ablation as a process of its own, which a test can kill; the command knows two large data sets only.
_PROGRAM = """
import sys
from pathlib import Path
from lvc_jax.evaluation.ablation import results, work
from lvc_jax.evaluation.ablation.study import Data, Study
root = Path(sys.argv[1])
study = Study(Data(str(root / "config.py"), "val", 60), str(root / "data"), root / "out", 2, ("base", "no_counter"))
code = work.run(study, lambda line: print(line, flush=True))
if code == 0:
    print(results.write(study.output, results.collect(study, "youcook2")))
sys.exit(code)
"""


@pytest.mark.slow
def test_two_variants_of_two_steps_trained_killed_and_continued(recipes: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(recipes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    report = recipes / "out" / "base" / work.SCORES / "report.html"
    while not report.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=600)
    made = report.stat().st_mtime_ns
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[1/2] base: finished before" in done.stdout
    assert report.stat().st_mtime_ns == made
    content = json.loads((recipes / "out" / "ablation.json").read_text())
    assert list(content["variants"]) == ["base", "no_counter"]
    for name, own in content["variants"].items():
        assert own["step"] == 2
        assert own["settings"]["model.use_counter"] == (name == "base")
        saved = json.loads((recipes / "out" / name / "config.json").read_text())
        assert (saved["model"]["num_queries"], saved["model"]["use_counter"]) == (10, name == "base")
    assert (recipes / "out" / "ablation.png").exists()
