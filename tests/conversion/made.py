"""Checkpoints of other programs, small and made on the spot."""

import json
import pickle
import struct
import zlib
from collections import OrderedDict
from pathlib import Path

import numpy as np

from lvc_jax.conversion import torch_writer
from lvc_jax.conversion.pdvc_config import Given
from lvc_jax.models import ModelConfig, pdvc_names

# Heads, points and rows of a window are not told by shapes: `GIVEN` must say them for this model.
LIGHT = ModelConfig(
    feature_dim=512,
    vocab_size=11,
    hidden_dim=16,
    num_frames=12,
    num_levels=3,
    num_heads=2,
    num_points=2,
    ff_dim=8,
    num_queries=4,
    max_events=3,
    embed_dim=8,
    rnn_dim=12,
)
GIVEN = Given(num_heads=2, num_frames=12)


def state_dict(config=LIGHT):
    """Random numbers seeded by the names; duplicates are the same arrays."""
    shapes = pdvc_names.shapes(config)
    copies = pdvc_names.duplicates(config, shapes)
    state = OrderedDict()
    for name, shape in shapes.items():
        random = np.random.default_rng(zlib.crc32(name.encode()))
        state[name] = random.standard_normal(shape).astype(np.float32)
    return OrderedDict((name, state[copies.get(name, name)]) for name in state)


def write_vocabulary(path, size=LIGHT.vocab_size, words=None):
    words = words or [*(f"word{i}" for i in range(1, size)), "UNK"]
    table = {str(i): word for i, word in enumerate(words, start=1)}
    path.write_text(json.dumps({"ix_to_word": table, "word_to_ix": {word: int(i) for i, word in table.items()}}))
    return path


def write_pdvc(folder, state=None, **other):
    """A checkpoint as PDVC saves it, with its vocabulary beside it; returns the file."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_vocabulary(Path(folder) / "vocabulary_made.json")
    path = Path(folder) / "model-best.pth"
    model = state_dict() if state is None else state
    torch_writer.write(path, {"epoch": 8, "model": model, "optimizer": {}, **other})
    return path


def legacy(content, *, little=True):
    """The bytes of the container before torch 1.6."""
    orders, arrays = torch_writer.pickled(content)
    system = {"protocol_version": 1001, "little_endian": little, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    keys = [str(key) for key in range(len(arrays))]
    parts = [pickle.dumps(part, protocol=2) for part in (0x1950A86A20F9469CFC6C, 1001, system)]
    parts += [orders, pickle.dumps(keys, protocol=2)]
    for array in arrays:
        ordered = array if little else array.byteswap()
        parts += [struct.pack("<q" if little else ">q", array.size), ordered.tobytes()]
    return b"".join(parts)
