"""The loop: logs, exact resume, the guard, SIGTERM, the best checkpoint, refusals."""

import dataclasses
import os
import signal

import numpy as np
import pytest
from tensorboardX.proto import event_pb2

from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.errors import InputError
from lvc_jax.training import metric_log
from lvc_jax.training.checkpoints import Checkpoints
from lvc_jax.training.guard import TrainingDivergedError
from lvc_jax.training.loop import train
from tests.training.parts import no_clock, tiny_config, tiny_parts

TERMS = {f"loss_{name}{suffix}" for name in ("giou", "cls", "bbox", "count", "caption") for suffix in ("", "_0")}


def records(workdir):
    return metric_log.read(workdir / "metrics.jsonl")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of eight steps that nothing disturbed."""
    workdir = tmp_path_factory.mktemp("whole")
    outcome = train(tiny_config(), tiny_parts(), workdir)
    assert outcome.step == 8
    assert not outcome.preempted
    return workdir


def expect_same(workdir, whole):
    assert [no_clock(r) for r in records(workdir)] == [no_clock(r) for r in records(whole)]


def test_every_logged_step_is_one_record_with_every_term(whole):
    found = records(whole)
    assert [record["step"] for record in found] == list(range(1, 9))
    assert set(found[0]) == TERMS | {"step", "loss", "lr", "grad_norm", "videos_per_s"}
    assert found[0]["lr"] == 0
    assert found[2]["lr"] == pytest.approx(1e-2)


def test_tensorboard_files_hold_the_losses(whole):
    (path,) = (whole / "tensorboard").iterdir()
    data, tags = path.read_bytes(), set()
    while data:  # a record: length (8 bytes), its checksum (4), the event, its checksum (4)
        size = int.from_bytes(data[:8], "little")
        event = event_pb2.Event.FromString(data[12 : 12 + size])
        tags |= {value.tag for value in event.summary.value}
        data = data[16 + size :]
    assert tags >= TERMS | {"loss", "lr"}


def test_the_last_two_checkpoints_stay(whole):
    steps = sorted(path.name for path in (whole / "checkpoints").iterdir() if path.name.isdigit())
    assert steps == ["4", "8"]


def test_a_finished_run_has_nothing_to_do(whole, capsys):
    before = records(whole)
    assert train(tiny_config(), tiny_parts(), whole).step == 8
    assert records(whole) == before
    assert "nothing to do" in capsys.readouterr().out


def test_a_run_continued_with_more_steps_repeats_the_same_losses(tmp_path, whole):
    train(tiny_config(num_train_steps=4), tiny_parts(), tmp_path)
    train(tiny_config(), tiny_parts(), tmp_path)
    expect_same(tmp_path, whole)


def test_a_run_that_died_between_checkpoints_repeats_the_same_losses(tmp_path, whole):
    def die(step, batch):
        if step == 7:
            raise RuntimeError("power cut")
        return batch

    with pytest.raises(RuntimeError, match="power cut"):
        train(tiny_config(), tiny_parts(die), tmp_path)
    assert [record["step"] for record in records(tmp_path)] == [1, 2, 3, 4, 5, 6]
    train(tiny_config(), tiny_parts(), tmp_path)
    expect_same(tmp_path, whole)


def test_sigterm_saves_at_the_next_step_and_the_rest_is_the_same(tmp_path, whole):
    def terminate(step, batch):
        if step == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return batch

    before = signal.getsignal(signal.SIGTERM)
    outcome = train(tiny_config(), tiny_parts(terminate), tmp_path)
    assert outcome.preempted
    assert outcome.step == 3
    assert signal.getsignal(signal.SIGTERM) is before
    assert (tmp_path / "checkpoints" / "3").is_dir()
    train(tiny_config(), tiny_parts(), tmp_path)
    expect_same(tmp_path, whole)


@pytest.mark.parametrize(("at", "preempted"), [(4, True), (8, False)])
def test_sigterm_on_a_validation_step_does_not_lose_the_validation(tmp_path, at, preempted):
    def terminate(step, batch):
        if step == at:
            os.kill(os.getpid(), signal.SIGTERM)
        return batch

    def evaluate(params, step):
        seen.append(step)
        return {"live_score_rouge_l": step / 10}

    seen: list[int] = []
    config = tiny_config()
    config.eval.every = 4
    first = train(config, dataclasses.replace(tiny_parts(terminate), evaluate=evaluate), tmp_path)
    assert first.preempted == preempted
    train(config, dataclasses.replace(tiny_parts(), evaluate=evaluate), tmp_path)
    assert seen == [4, 8]


@pytest.mark.parametrize("at", [3, 8], ids=["midway", "last"])
def test_a_kill_during_the_validation_after_sigterm_loses_no_step(tmp_path, at):
    def terminate(step, batch):
        if step == at:
            os.kill(os.getpid(), signal.SIGTERM)
        return batch

    def killed(params, step):
        raise RuntimeError("out of patience")

    config = tiny_config()
    config.eval.every = at
    with pytest.raises(RuntimeError, match="out of patience"):
        train(config, dataclasses.replace(tiny_parts(terminate), evaluate=killed), tmp_path)
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert checkpoints.latest_step() == at
    checkpoints.close()


def test_accumulation_resumes_in_the_middle_of_an_update(tmp_path):
    config = tiny_config(accumulation_steps=2, checkpoint_every=3)
    train(config, tiny_parts(), tmp_path / "a")
    short = tiny_config(accumulation_steps=2, checkpoint_every=3, num_train_steps=3)
    train(short, tiny_parts(), tmp_path / "b")
    train(config, tiny_parts(), tmp_path / "b")
    expect_same(tmp_path / "b", tmp_path / "a")


@pytest.mark.parametrize("log_every", [1, 100])
def test_a_bad_number_stops_the_run_and_its_state_is_not_saved(tmp_path, log_every):
    def spoil(step, batch):
        return {**batch, "features": batch["features"] * (np.inf if step == 6 else 1)}

    with pytest.raises(TrainingDivergedError, match=r"^step 6: loss_\w+ is nan") as error:
        train(tiny_config(log_every=log_every, checkpoint_every=2), tiny_parts(spoil), tmp_path)
    assert "\n" not in str(error.value)
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert checkpoints.latest_step() == 4
    checkpoints.close()
    assert all(record["step"] < 6 for record in records(tmp_path))


def test_the_best_checkpoint_follows_the_validation_score(tmp_path):
    scores = {2: 0.1, 4: 0.5, 6: 0.3, 8: 0.2}

    def evaluate(params, step):
        return {"live_score_rouge_l": scores[step]}

    config = tiny_config()
    config.eval.every = 2
    train(config, tiny_parts(evaluate=evaluate), tmp_path)
    assert [p.name for p in (tmp_path / "checkpoints" / "best").iterdir() if p.name.isdigit()] == ["4"]
    logged = {r["step"]: r["live_score_rouge_l"] for r in records(tmp_path) if "live_score_rouge_l" in r}
    assert logged == scores
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert checkpoints.best_about().metrics == {"live_score_rouge_l": 0.5}
    checkpoints.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 2}, "batch_size=4, not 2"),
        ({"memory": 3}, "memory=1, not 3"),
        ({"seed": 4}, "seed=3, not 4"),
        ({"segment_frames": (48,)}, "segment_frames"),
    ],
)
def test_a_workdir_of_another_run_is_refused(whole, changes, message):
    with pytest.raises(InputError, match=message):
        train(tiny_config(**changes), tiny_parts(), whole)


def test_another_vocabulary_is_refused(whole):
    with pytest.raises(InputError, match="another vocabulary"):
        train(tiny_config(), tiny_parts(vocabulary=WordVocabulary(["other", "UNK"])), whole)


def test_another_optimiser_is_refused_in_one_line(whole):
    with pytest.raises(InputError, match="not those of this model or optimiser") as error:
        train(tiny_config(optimizer={"name": "adam"}), tiny_parts(), whole)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 3}, r"batch_size=3: must be a positive multiple of the 2 devices.*batch_size=4"),
        ({"num_train_steps": 0}, "num_train_steps=0"),
        ({"log_every": 0}, "log_every=0"),
    ],
)
def test_impossible_configs_are_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        train(tiny_config(**changes), tiny_parts(), tmp_path)
