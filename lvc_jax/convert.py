"""Checkpoints of PDVC and TSP to checkpoints of this package, and back.

    python -m lvc_jax.convert --format=pdvc INPUT.pth --output=DIR
    python -m lvc_jax.convert --format=tsp r2plus1d_34.pth --output=DIR
    python -m lvc_jax.convert --reverse --format=pdvc --input=DIR --output=FILE.pth

INPUT is a file of torch.save or a .safetensors file. Torch is not needed: only tensors are read, and what else a file
names is refused by name, never run. What was read off the shapes and what was assumed is printed; see docs/convert.md.
"""

import dataclasses
from pathlib import Path
from typing import Any

from absl import flags

from lvc_jax import cli
from lvc_jax.conversion import pdvc, tsp
from lvc_jax.conversion.new_folder import check_new
from lvc_jax.conversion.pdvc_config import Given
from lvc_jax.conversion.weight_files import check_suffix
from lvc_jax.errors import InputError
from lvc_jax.files import check_writable
from lvc_jax.models import parameter_count

FLAGS = flags.FlagValues()
FORMAT = flags.DEFINE_enum(
    "format", None, ["pdvc", "tsp"], "A captioner of PDVC, or a backbone of TSP or torchvision.", flag_values=FLAGS
)
INPUT = flags.DEFINE_string("input", None, "What to convert; may stand without --input=.", flag_values=FLAGS)
OUTPUT = flags.DEFINE_string(
    "output", None, "The new folder; with --reverse a .pth or .safetensors file.", flag_values=FLAGS
)
REVERSE = flags.DEFINE_bool("reverse", False, "From a checkpoint folder here to a file.", flag_values=FLAGS)
VOCABULARY = flags.DEFINE_string(
    "vocabulary", None, "PDVC's JSON of words; default: found beside INPUT.", flag_values=FLAGS
)
FEATURES = flags.DEFINE_string(
    "features", None, "Folder whose features.json tells the clock; needed unless they are TSP's.", flag_values=FLAGS
)
NUM_HEADS = flags.DEFINE_integer("num_heads", None, "Attention heads; default 8.", lower_bound=1, flag_values=FLAGS)
NUM_POINTS = flags.DEFINE_integer(
    "num_points", None, "Sampling points; default: what is left by the heads.", lower_bound=1, flag_values=FLAGS
)
NUM_FRAMES = flags.DEFINE_integer(
    "num_frames",
    None,
    "Rows that a window is resampled to; default 100, YouCook2 200.",
    lower_bound=1,
    flag_values=FLAGS,
)
EC_ALPHA = flags.DEFINE_float(
    "ec_alpha", None, "Weight of the captions in the rerank; default 0.3 light, 1 standard.", flag_values=FLAGS
)
PADDING = flags.DEFINE_enum(
    "padding", None, ["zeros", "border"], "Sampling outside the video, encoder and decoder.", flag_values=FLAGS
)
DATASET = flags.DEFINE_string("dataset", None, "What it was trained on, for the record.", flag_values=FLAGS)
_PDVC_ONLY = (VOCABULARY, FEATURES, NUM_HEADS, NUM_POINTS, NUM_FRAMES, EC_ALPHA, PADDING, DATASET)


def main() -> None:
    """Runs the command."""
    if not FORMAT.value:
        raise InputError("--format is missing: give pdvc or tsp")
    source, output = INPUT.value, OUTPUT.value
    if not source:
        raise InputError("--input is missing: give what to convert")
    if not output:
        raise InputError("--output is missing: give where it goes")
    idle = [flag.name for flag in _PDVC_ONLY if flag.value is not None]
    if idle and (REVERSE.value or FORMAT.value != "pdvc"):
        raise InputError(f"--{idle[0]} says something of a PDVC file that is read; leave it out here")
    check_suffix(output if REVERSE.value else source)
    if REVERSE.value:
        _check_file(Path(output))
        _reverse(source, output)
    else:
        check_new(output)
        convert = _pdvc if FORMAT.value == "pdvc" else _tsp
        convert(source, output)


def _pdvc(source: str, output: str) -> None:
    given = Given(NUM_HEADS.value, NUM_POINTS.value, NUM_FRAMES.value, EC_ALPHA.value, PADDING.value, DATASET.value)
    converted = pdvc.load(source, given, VOCABULARY.value, FEATURES.value)
    loaded = converted.loaded
    read = dataclasses.asdict(loaded.model_config)
    sizes = {name: value for name, value in read.items() if name in _READ}
    epoch = "" if converted.epoch is None else f", epoch {converted.epoch}"
    print(f"{source}: PDVC captioner{epoch}, {parameter_count(loaded.params):,} parameters")
    print(f"read off the shapes: {_listed(sizes)}")
    print(f"assumed, flags of these names say otherwise: {_listed(converted.assumed)}")
    info = loaded.feature_info
    print(f"features: {info.backbone}, {info.dim} numbers every {info.stride_s:.4f} s over {info.window_s:.4f} s")
    pdvc.save(converted, output)
    print(f"{output}: written; for --checkpoint of evaluate and live")


def _tsp(source: str, output: str) -> None:
    config, unused = tsp.convert(source, output)
    print(f"{source}: R(2+1)D-{config.depth}, batch norm epsilon {config.batch_norm_eps:g}")
    if unused:
        print(f"not used, classifiers: {', '.join(unused)}")
    print(f"{output}: written; for --backbone_weights of features and live")


def _reverse(source: str, output: str) -> None:
    if FORMAT.value == "pdvc":
        words = pdvc.export(source, output)
        print(f"{output}: written, with PDVC's names; its vocabulary: {words}")
    else:
        config = tsp.export(source, output)
        style = "TSP" if config.depth == 34 else "torchvision"
        print(f"{output}: R(2+1)D-{config.depth} written, with the names of {style}, without classifiers")


def _check_file(path: Path) -> None:
    if path.suffix not in (".pth", ".pt", ".safetensors"):
        raise InputError(f"--output={path}: name a .pth or .safetensors file")
    if path.exists():
        raise InputError(f"--output={path}: is there already; name a new file, or remove that one")
    check_writable(path.absolute().parent, "--output")


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


_READ = {"feature_dim", "vocab_size", "hidden_dim", "num_levels", "encoder_layers", "decoder_layers", "ff_dim"}
_READ |= {"num_queries", "max_events", "box_refine", "caption_head", "embed_dim", "rnn_dim", "attention_dim"}


if __name__ == "__main__":
    cli.run(main, FLAGS, positional="input")
