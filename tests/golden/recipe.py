"""Weights and inputs made from names alone, as the reference outputs were computed from them."""

import json
import zlib
from pathlib import Path

import numpy as np


def raw(tag: str, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal numbers seeded by a text."""
    return np.random.default_rng(zlib.crc32(tag.encode())).standard_normal(shape).astype(np.float32)


def canonical(name: str) -> str:
    """Shared modules are drawn once: their first name counts."""
    for copy in range(1, 10):
        name = name.replace(f"caption_head.{copy}.", "caption_head.0.")
    return name.replace("transformer.decoder.bbox_head.", "bbox_head.")


def weight(name: str, shape: tuple[int, ...], norm: bool) -> np.ndarray:
    """The value of one entry of the captioner's state dict."""
    name = canonical(name)
    value = raw(name, shape) * np.float32(0.05)
    if norm and name.endswith("weight"):
        return np.float32(1) + value
    if name.endswith("sampling_offsets.bias"):
        return value * np.float32(40)
    if name in ("query_embed.weight", "transformer.level_embed", "caption_head.0.embed.weight"):
        return value * np.float32(20)
    return value


def state_dict(manifest: Path) -> dict[str, np.ndarray]:
    """All entries that a manifest lists."""
    entries = json.loads(manifest.read_text(encoding="utf-8"))["state_dict"]
    return {entry["name"]: weight(entry["name"], tuple(entry["shape"]), entry["norm"]) for entry in entries}


def uniform(tag: str, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform numbers in [0, 1) seeded by a text, float64."""
    return np.random.default_rng(zlib.crc32(tag.encode())).random(shape)
