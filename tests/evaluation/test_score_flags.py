"""A flag that changes nothing is noted, for every metric and beside every choice that makes it idle."""

from pathlib import Path
from typing import Any

import pytest

from lvc_jax import score
from lvc_jax.evaluation.scoring import options, uses
from tests.evaluation.score_runs import METRICS, caption_files, given, run, write

FAST = ("--scorers=ROUGE-L",)
LIVE = ("--metric=live_score", *FAST)
PREDICTION = (*LIVE, "--clock=prediction")
REFERENCE = (*LIVE, "--mode=reference")
WHOLE = (*LIVE, "--segment_frames=video")
SUITE = ("--segment_frames=60",)
WHOLE_SUITE = ("--segment_frames=video",)
CLOCK, SLOTS, PAPER = f"(only {uses.CLOCK})", f"(only {uses.SLOTS})", f"(only {uses.PAPER})"
IS_LIVE = f"(only {uses.LIVE})"
SODA = ("--metric=soda", *FAST)
PRECISION = ("--metric=average_precision",)

# What is given already, a flag that then changes nothing, and the reason in the note.
IDLE = [
    (PREDICTION, "--segment_frames=24", CLOCK),
    (PREDICTION, "--segment_frames=video", CLOCK),
    (PREDICTION, "--fps=25", CLOCK),
    (PREDICTION, "--silent=skip", CLOCK),
    (PREDICTION, "--missed=skip", CLOCK),
    (REFERENCE, "--segment_frames=24", CLOCK),
    (REFERENCE, "--fps=25", CLOCK),
    (REFERENCE, "--silent=skip", CLOCK),
    (REFERENCE, "--missed=skip", CLOCK),
    (REFERENCE, "--clock=prediction", PAPER),
    (REFERENCE, "--gamma=aggregate", PAPER),
    (REFERENCE, "--history=min(K,w)", PAPER),
    (REFERENCE, "--reference_sets=first", PAPER),
    (WHOLE, "--fps=25", SLOTS),
    (WHOLE, "--window=2", SLOTS),
    (WHOLE, "--history=K", SLOTS),
    (LIVE, "--version=2018", ""),
    (SUITE, "--fps=25", ""),
    (SUITE, "--verify-with-java", ""),
    (SUITE, "--verify_with_java", ""),
    ((*SUITE, "--clock=prediction"), "--silent=skip", CLOCK),
    ((*SUITE, "--clock=prediction"), "--missed=skip", CLOCK),
    (WHOLE_SUITE, "--clock=dt", IS_LIVE),
    (WHOLE_SUITE, "--clock=prediction", IS_LIVE),
    (WHOLE_SUITE, "--gamma=aggregate", IS_LIVE),
    (WHOLE_SUITE, "--history=K", IS_LIVE),
    (WHOLE_SUITE, "--window=2", IS_LIVE),
    (WHOLE_SUITE, "--silent=one", IS_LIVE),
    (WHOLE_SUITE, "--missed=skip", IS_LIVE),
    (WHOLE_SUITE, "--reference_sets=first", IS_LIVE),
    (WHOLE_SUITE, "--scorers=ROUGE-L", IS_LIVE),
    (WHOLE_SUITE, "--plot=PLOTS", f"(only {uses.PICTURES})"),
    (SODA, "--tiou=0.5", f"(only {uses.LIMITS})"),
    ((*SODA, "--variants=b,d"), "--tiou=0.5", f"(only {uses.LIMITS})"),
    ((*SODA, "--variants=d"), "--scorers=ROUGE-L", f"(only {uses.SENTENCES})"),
    (SODA, "--window=2", ""),
    (("--metric=text", *FAST), "--tiou=0.5", ""),
    (("--metric=dense_captioning", *FAST), "--reference_sets=first", ""),
    (("--metric=instantaneous_accuracy",), "--scorers=ROUGE-L", ""),
    (("--metric=instantaneous_accuracy",), "--implementation=lstr", ""),
    (PRECISION, "--tiou=0.5", ""),
]
USED = [
    *[(LIVE, flag) for flag in ("--segment_frames=60", "--fps=25", "--silent=one", "--missed=skip", "--window=2")],
    *[(LIVE, flag) for flag in ("--clock=prediction", "--gamma=aggregate", "--history=K", "--reference_sets=first")],
    *[(PREDICTION, flag) for flag in ("--window=2", "--gamma=aggregate", "--history=min(K,w)")],
    (REFERENCE, "--window=2"),
    (WHOLE, "--missed=skip"),
    *[(SUITE, flag) for flag in ("--clock=prediction", "--silent=one", "--missed=skip", "--window=2", "--plot=PLOTS")],
    (SUITE, "--segment_frames=90"),
    ((*SUITE, "--clock=prediction"), "--segment_frames=90"),
    ((*SODA, "--variants=a"), "--tiou=0.5"),
    (SODA, "--scorers=CIDEr"),
    (("--metric=instantaneous_accuracy",), "--slot=1"),
    (PRECISION, "--slot=1"),
]


def score_with(folder: Path, flags: tuple[str, ...]) -> dict[str, Any]:
    metric = next((flag.partition("=")[2] for flag in flags if flag.startswith("--metric=")), "")
    files = given(folder, metric, caption_files(folder)) if metric else caption_files(folder)
    own = {name: value for name, value in files.items() if name != "scorers"}
    return run(folder, *(flag.replace("PLOTS", str(folder / "plots")) for flag in flags), **own)


def noted(found: dict[str, Any], metric: str) -> list[str]:
    return [note for note in found["notes"] if note.startswith(f"Not used by {metric or 'the suite'}: ")]


def named(flags: tuple[str, ...]) -> str:
    return flags[0].partition("=")[2] if flags[0].startswith("--metric=") else ""


@pytest.mark.parametrize(("flags", "flag", "reason"), IDLE)
def test_a_flag_that_changes_nothing_is_noted(tmp_path: Path, flags: tuple[str, ...], flag: str, reason: str) -> None:
    idle = flag.partition("=")[0].replace("verify_with_java", "verify-with-java")
    without = score_with(tmp_path, tuple(own for own in flags if not own.startswith(f"{idle}=") or own == flags[0]))
    found = score_with(tmp_path, (*flags, flag))
    assert idle in noted(found, named(flags))[0]
    assert f"{idle} {reason}".strip() in noted(found, named(flags))[0]
    if flag == "--scorers=ROUGE-L":
        return  # SODA d is called by the scorer that it does not ask
    assert found["scores"] == without["scores"]
    assert found["per_video"] == without["per_video"]


@pytest.mark.parametrize(("flags", "flag"), USED)
def test_a_flag_that_counts_is_not_noted(tmp_path: Path, flags: tuple[str, ...], flag: str) -> None:
    found = score_with(tmp_path, (*flags, flag))
    assert flag.partition("=")[0] not in "".join(noted(found, named(flags)))


def test_frames_have_neither_slots_nor_subsets(tmp_path: Path) -> None:
    frames = write(tmp_path / "f.json", {"classes": ["Background", "A"], "frames": {"v": [[0, 1], [1, 0]]}})
    files = {"predictions": frames, "references": frames}
    found = run(tmp_path, *PRECISION, "--slot=1", "--subset=Test", **files)
    assert found["notes"][0] == (
        f"Not used by average_precision: --slot (only {uses.SEGMENTS}), --subset (only {uses.SEGMENTS})."
    )
    assert noted(run(tmp_path, *PRECISION, **files), "average_precision") == []


def test_scorers_without_a_column_of_the_suite(tmp_path: Path) -> None:
    found = score_with(tmp_path, (*SUITE, "--scorers=ROUGE-L,CIDEr,BLEU-2"))
    assert "In no column of the table: CIDEr, BLEU-2; --output has their Live Scores." in found["notes"]
    assert "LS/CIDEr" in found["scores"]
    assert not any("column" in note for note in score_with(tmp_path, SUITE)["notes"])


def test_every_flag_that_changes_a_number_has_its_uses() -> None:
    always = {"metric", "predictions", "references", "output"}
    own = {name for name in score.FLAGS if score.FLAGS[name].__class__.__name__ != "_FlagAlias"} - {"help"}
    fields = {field for field in options.Options.__dataclass_fields__ if field not in always}
    assert fields <= uses.FLAGS <= own
    assert set(uses.USES) == {None, *METRICS}
