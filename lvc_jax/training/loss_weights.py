"""The weight of every loss term, as one hashable value; the matching costs use the same weights."""

import dataclasses
from typing import Any, Literal

from lvc_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class LossWeights:
    """Defaults are the Live Video Captioning paper's (equation of the total loss, section 3.2).

    `count_loss`: "cross_entropy" (the paper) or "pdvc" (the PDVC reference's frequency-weighted term).
    """

    giou: float = 2.0
    cls: float = 1.0
    count: float = 1.0
    caption: float = 1.0
    bbox: float = 0.0
    count_loss: Literal["cross_entropy", "pdvc"] = "cross_entropy"

    def __post_init__(self) -> None:
        if self.count_loss not in ("cross_entropy", "pdvc"):
            raise InputError(f"loss.count_loss={self.count_loss!r}: choose cross_entropy or pdvc")
        for name in ("giou", "cls", "count", "caption", "bbox"):
            if not getattr(self, name) >= 0:  # also if it is not a number
                raise InputError(f"loss.{name}={getattr(self, name)}: must be 0 or more")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "LossWeights":
        """Builds weights from plain values; an unknown key is an `InputError` that names it."""
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise InputError(f"loss config: unknown key {unknown[0]!r}")
        return cls(**values)


PDVC = LossWeights(giou=4.0, cls=2.0, count=0.5, caption=2.0, count_loss="pdvc")
