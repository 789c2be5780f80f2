"""The model's shape and switches, as one hashable value."""

import dataclasses
from typing import Any, Literal

from lvc_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Everything that decides the parameters and the forward pass of `LiveCaptioner`.

    Defaults are the Live Video Captioning paper's model on TSP features (section 3.2), which is the light variant
    of the PDVC reference: 20,175,249 parameters with the ActivityNet vocabulary.
    """

    feature_dim: int = 512
    vocab_size: int = 5747  # word ids 1..vocab_size; 0 begins, ends and pads
    hidden_dim: int = 512
    num_frames: int = 100  # T: rows that every window is resampled to
    num_levels: int = 4
    num_heads: int = 8
    num_points: int = 4
    encoder_layers: int = 2
    decoder_layers: int = 2
    ff_dim: int = 512
    dropout: float = 0.1
    num_queries: int = 10
    max_events: int = 10  # the counter has max_events + 1 classes
    use_counter: bool = True
    box_refine: bool = True
    transformer: Literal["deformable", "plain"] = "deformable"
    padding: Literal["zeros", "border"] = "zeros"  # encoder and decoder; the caption attention is always "border"
    attention: Literal["auto", "reference", "tapwise", "dense", "pallas_tpu", "pallas_gpu"] = "auto"
    caption_head: Literal["lstm", "lstm_dsa"] = "lstm"
    embed_dim: int = 512
    rnn_dim: int = 512
    attention_dim: int = 512  # additive attention of lstm_dsa
    caption_dropout: float = 0.5
    max_caption_len: int = 30
    dtype: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"model.{name}={getattr(self, name)!r}: choose one of {', '.join(choices)}")
        for name in _POSITIVE:
            if getattr(self, name) < 1:
                raise InputError(f"model.{name}={getattr(self, name)}: must be at least 1")
        for name in ("dropout", "caption_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InputError(f"model.{name}={getattr(self, name)}: must be in [0, 1)")
        if self.hidden_dim % self.num_heads or self.hidden_dim % 4:
            raise InputError(f"model.hidden_dim={self.hidden_dim}: must be a multiple of 4 and of num_heads")
        if self.num_frames >> (self.num_levels - 1) < 1:
            raise InputError(f"model.num_frames={self.num_frames}: too short for {self.num_levels} levels")

    @property
    def level_lengths(self) -> tuple[int, ...]:
        """Rows of each pyramid level: T, then halved with rounding up (100, 50, 25, 13)."""
        lengths = [self.num_frames]
        for _ in range(self.num_levels - 1):
            lengths.append((lengths[-1] + 1) // 2)
        return tuple(lengths)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelConfig":
        """Builds a config from plain values; an unknown key is an `InputError` that names it."""
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise InputError(f"model config: unknown key {unknown[0]!r}")
        return cls(**values)


_CHOICES: dict[str, tuple[str, ...]] = {
    "transformer": ("deformable", "plain"),
    "padding": ("zeros", "border"),
    "attention": ("auto", "reference", "tapwise", "dense", "pallas_tpu", "pallas_gpu"),
    "caption_head": ("lstm", "lstm_dsa"),
    "dtype": ("float32", "bfloat16"),
}
_POSITIVE = (
    "feature_dim",
    "vocab_size",
    "hidden_dim",
    "ff_dim",
    "embed_dim",
    "rnn_dim",
    "attention_dim",
    "num_frames",
    "num_levels",
    "num_heads",
    "num_points",
    "encoder_layers",
    "decoder_layers",
    "num_queries",
    "max_events",
    "max_caption_len",
)
