"""Makes tables 2 to 6 of the Live Video Captioning paper for any set of predictions files, in both readings.

    python -m lvc_jax.tables --predictions=runs/anet/scores --references=val_1.json,val_2.json --output=tables
    python -m lvc_jax.tables --predictions=ours=runs/a/scores,MDVC=mdvc.json --references=val_1.json --output=tables

A folder holds predictions_<Δt>.json, as `evaluate` writes them; a single file without Δt in its header or its name
counts as captions of whole videos. Writes tables.md and tables.json: language scores and localisation on original and
on cut annotations, LS and wLS of every scorer, each with its signatures and with what it covers. docs/metrics.md
explains the readings.
"""

from absl import flags
from rich.console import Console
from rich.progress import track

from lvc_jax import cli
from lvc_jax.errors import InputError
from lvc_jax.evaluation.paper_tables import files, layout, write
from lvc_jax.evaluation.paper_tables.measure import Measured, Meter
from lvc_jax.evaluation.scoring.inputs import naming
from lvc_jax.evaluation.scoring.options import chosen_scorers
from lvc_jax.evaluation.scoring.show import printable
from lvc_jax.files import check_writable

FLAGS = flags.FlagValues()
PREDICTIONS = flags.DEFINE_list(
    "predictions", [], "Folders or files, each as PATH or NAME=PATH, separated by commas.", flag_values=FLAGS
)
REFERENCES = flags.DEFINE_list("references", [], "Annotation file, or one for each annotator.", flag_values=FLAGS)
OUTPUT = flags.DEFINE_string("output", None, "Folder for tables.md and tables.json.", flag_values=FLAGS)
SCORERS = flags.DEFINE_list(
    "scorers",
    None,
    "Text scorers; by default those of the paper: BLEU-1, BLEU-4, METEOR, ROUGE-L.",
    flag_values=FLAGS,
)
_NOT_INSTALLED = "not installed"


def main() -> None:
    if not REFERENCES.value:
        raise InputError("--references is missing: give an annotation file, or two separated by a comma")
    if not OUTPUT.value:
        raise InputError("--output is missing: give a folder for the tables")
    check_writable(OUTPUT.value, "--output", *write.NAMES)
    rows = files.find(PREDICTIONS.value)
    scorers, notes = chosen_scorers(SCORERS.value, layout.SCORERS)
    shown = layout.SCORERS if SCORERS.value is None else scorers
    meter = Meter(REFERENCES.value, scorers)
    console = Console(stderr=True)
    lines = track(rows, "scoring", console=console, transient=True, disable=not console.is_terminal)
    measured = [_measure(meter, row) for row in lines]
    made = layout.all_tables(measured, shown)
    notes = [*files.overlooked(PREDICTIONS.value), *meter.notes, *notes]
    notes += [note for own in measured for note in own.notes]
    missing = {scorer: _NOT_INSTALLED for scorer in shown if scorer not in scorers}
    text = write.document(measured, made, REFERENCES.value, notes, missing)
    content = write.content(measured, made, REFERENCES.value, notes)
    try:
        paths = write.write(OUTPUT.value, text, content)
    except OSError as error:
        raise InputError(f"--output={OUTPUT.value}: cannot be written: {error.strerror}") from None
    print(printable(text))
    print(f"written: {paths[0]}, {paths[1]}")


def _measure(meter: Meter, row: files.Row) -> Measured:
    with naming(row.path, REFERENCES.value):
        return meter.measure(row)


if __name__ == "__main__":
    cli.run(main, FLAGS)
