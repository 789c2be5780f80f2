"""Parameters of the PDVC reference under their names here, and the other way round."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np
from flax import traverse_util
from jaxtyping import Float

from lvc_jax.errors import InputError
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.live_captioner import init_params

Path = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a parameter comes from: one entry of the state dict, or one a layer that are stacked."""

    names: tuple[str, ...]
    transpose: bool = False  # linear layers and convolutions: output axis first in PyTorch, last here
    stacked: bool = False
    columns: tuple[int, int] | None = None  # part of the input axis
    squeezed: bool = False  # a linear layer with one output, kept as a vector

    def read(self, state: Mapping[str, np.ndarray]) -> Float[np.ndarray, "..."]:
        """The parameter in this package's layout, float32."""
        arrays = []
        for name in self.names:
            if name not in state:
                raise InputError(f"PDVC parameters: {name} is missing: check that model config and checkpoint agree")
            array = np.asarray(state[name], np.float32)
            if self.columns is not None:
                array = array[:, slice(*self.columns)]
            array = array.T if self.transpose else array
            arrays.append(array[:, 0] if self.squeezed else array)
        return np.stack(arrays) if self.stacked else arrays[0]

    def write(self, value: Float[np.ndarray, "..."], parts: dict[str, list[np.ndarray]]) -> None:
        """The inverse of `read`: adds the arrays of this parameter to the parts, by column, of each entry."""
        for name, array in zip(self.names, value if self.stacked else [value], strict=True):
            array = array[:, None] if self.squeezed else array
            parts.setdefault(name, []).append(array.T if self.transpose else array)


class _Map:
    """Collects the sources by path."""

    def __init__(self) -> None:
        self.sources: dict[Path, Source] = {}

    def plain(self, path: str, name: str, **options: Any) -> None:
        self.sources[tuple(path.split("/"))] = Source((name,), **options)

    def linear(self, path: str, name: str, *, separator: str = "/") -> None:
        self.plain(f"{path}{separator}kernel", f"{name}.weight", transpose=True)
        self.plain(f"{path}{separator}bias", f"{name}.bias")

    def norm(self, path: str, name: str) -> None:
        self.plain(f"{path}/scale", f"{name}.weight")
        self.plain(f"{path}/bias", f"{name}.bias")

    def head(self, path: str, names: list[str]) -> None:
        weights = tuple(f"{name}.weight" for name in names)
        biases = tuple(f"{name}.bias" for name in names)
        self.sources[("heads", f"{path}_kernel")] = Source(weights, transpose=True, stacked=True)
        self.sources[("heads", f"{path}_bias")] = Source(biases, stacked=True)

    def deformable(self, path: str, name: str) -> None:
        for ours, theirs in _DEFORMABLE.items():
            self.linear(f"{path}/{ours}", f"{name}.{theirs}")

    def feed_forward(self, path: str, name: str, norm: str) -> None:
        self.linear(f"{path}/expand", f"{name}.linear1")
        self.linear(f"{path}/reduce", f"{name}.linear2")
        self.norm(f"{path}/norm", f"{name}.{norm}")


_DEFORMABLE = {
    "offsets": "sampling_offsets",
    "weights": "attention_weights",
    "value": "value_proj",
    "output": "output_proj",
}


def sources(config: ModelConfig) -> dict[Path, Source]:
    """For every parameter of `LiveCaptioner(config)` the entries of a PDVC state dict that it is made of.

    Raises:
        InputError: the configuration has no counterpart there (plain transformer, no counter).
    """
    if config.transformer != "deformable" or not config.use_counter:
        raise InputError("PDVC parameters: only the deformable transformer with a counter has them")
    found = _Map()
    found.linear("positions/duration", "base_encoder.pos_embed.duration_embed_layer")
    for level in range(config.num_levels):
        found.linear(f"pyramid/conv_{level}", f"base_encoder.input_proj.{level}.0")
        found.norm(f"pyramid/norm_{level}", f"base_encoder.input_proj.{level}.1")
    found.plain("level_embedding", "transformer.level_embed")
    found.plain("queries", "query_embed.weight")
    found.linear("reference", "transformer.reference_points")
    found.linear("proposal_layer", "transformer.pos_trans")
    found.norm("proposal_norm", "transformer.pos_trans_norm")
    for layer in range(config.encoder_layers):
        path, name = f"encoder_{layer}", f"transformer.encoder.layers.{layer}"
        found.deformable(f"{path}/memory/attention", f"{name}.self_attn")
        found.norm(f"{path}/memory/norm", f"{name}.norm1")
        found.feed_forward(f"{path}/feed_forward", name, "norm2")
    for layer in range(config.decoder_layers):
        path, name = f"decoder_{layer}", f"transformer.decoder.layers.{layer}"
        found.deformable(f"{path}/memory/attention", f"{name}.cross_attn")
        found.norm(f"{path}/memory/norm", f"{name}.norm1")
        found.plain(f"{path}/self_attention/in_kernel", f"{name}.self_attn.in_proj_weight", transpose=True)
        found.plain(f"{path}/self_attention/in_bias", f"{name}.self_attn.in_proj_bias")
        found.linear(f"{path}/self_attention/output", f"{name}.self_attn.out_proj")
        found.norm(f"{path}/self_norm", f"{name}.norm2")
        found.feed_forward(f"{path}/feed_forward", name, "norm3")
    copies = range(config.decoder_layers if config.box_refine else 1)
    found.head("class", [f"class_head.{copy}" for copy in copies])
    found.head("count", [f"count_head.{copy}" for copy in copies])
    for part in range(3):
        found.head(f"box_{part}", [f"bbox_head.{copy}.layers.{part}" for copy in copies])
    _caption(found, config)
    return found.sources


def _caption(found: _Map, config: ModelConfig) -> None:
    name = "caption_head.0"
    found.plain("caption/embedding", f"{name}.embed.weight")
    found.linear("caption/logit", f"{name}.logit", separator="_")
    found.plain("caption/recurrent_kernel", f"{name}.core.rnn.weight_hh_l0", transpose=True)
    attends = config.caption_head == "lstm_dsa"
    parts = ["word", *(["attended"] if attends else []), "event"]
    start = 0
    for part in parts:
        size = config.embed_dim if part == "word" else config.hidden_dim
        columns = (start, start + size)
        found.plain(f"caption/{part}_kernel", f"{name}.core.rnn.weight_ih_l0", transpose=True, columns=columns)
        start += size
    if attends:
        attention = f"{name}.core.deformable_att"
        found.linear("caption/attention/value", f"{attention}.value_proj")
        for ours in ("offsets", "weights", "output"):
            found.linear(f"caption/attention/{ours}", f"{attention}.{_DEFORMABLE[ours]}", separator="_")
        found.linear("caption/attention/content", f"{name}.core.ctx2att")
        found.linear("caption/attention/state", f"{name}.core.h2att", separator="_")
        score = f"{name}.core.alpha_net"
        found.plain("caption/attention/score_kernel", f"{score}.weight", transpose=True, squeezed=True)
        found.plain("caption/attention/score_bias", f"{score}.bias")


def from_state_dict(state: Mapping[str, np.ndarray], config: ModelConfig) -> dict[str, Any]:
    """Variables {"params": ...} of `LiveCaptioner(config)` from a PDVC state dict of numpy arrays.

    Duplicated entries of the state dict (shared caption head, box heads inside the decoder) are not looked at.

    Raises:
        InputError: an entry is missing.
    """
    flat = {path: source.read(state) for path, source in sources(config).items()}
    return {"params": traverse_util.unflatten_dict(flat)}


def to_state_dict(variables: Mapping[str, Any], config: ModelConfig) -> dict[str, np.ndarray]:
    """The inverse of `from_state_dict`, float32; with the duplicates of `duplicates`, which are the same arrays.

    Raises:
        InputError: the configuration has no counterpart in the PDVC reference.
    """
    flat = traverse_util.flatten_dict(variables["params"])
    parts: dict[str, list[np.ndarray]] = {}
    for path, source in sources(config).items():
        source.write(np.asarray(flat[path], np.float32), parts)
    state = {
        name: np.ascontiguousarray(arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1))
        for name, arrays in parts.items()
    }
    return state | {copy: state[name] for copy, name in duplicates(config, state).items()}


def shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every entry of a PDVC state dict of this configuration, duplicates included, with its shape.

    Raises:
        InputError: the configuration has no counterpart in the PDVC reference.
    """
    # Zeros that take no memory: only their shapes are of interest.
    zeros = jax.tree.map(lambda leaf: np.broadcast_to(np.float32(0), leaf.shape), _abstract(config))
    return {name: array.shape for name, array in to_state_dict(zeros, config).items()}


@functools.lru_cache(maxsize=8)
def _abstract(config: ModelConfig) -> Any:
    """Shapes of the parameters; tracing the whole model takes about a second."""
    return jax.eval_shape(lambda key: init_params(config, key), jax.random.key(0))


def duplicates(config: ModelConfig, names: Iterable[str]) -> dict[str, str]:
    """Entries that a PDVC state dict holds again, copy -> original, given the names of (at least) the originals.

    The caption head is shared by all layers. With box refinement the decoder holds the box heads too; without, every
    head is shared by all layers.
    """
    copies: dict[str, str] = {}
    for name in names:
        room, dot, rest = name.partition(".0.")
        if room == "caption_head" or (room in ("class_head", "count_head", "bbox_head") and not config.box_refine):
            copies |= {f"{room}.{layer}{dot[2:]}{rest}": name for layer in range(1, config.decoder_layers)}
        elif config.box_refine and name.startswith("bbox_head."):
            copies[f"transformer.decoder.{name}"] = name
    return copies
