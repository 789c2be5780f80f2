"""Batches of the pipeline's form, and the tiny model, for every training test."""

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from tests.training.stub_model import StubCaptioner


def make_batch(rng, counts, *, slots=3, words=6, frames=5, dim=6, vocab=12):
    """A batch whose sample i has counts[i] events in the first slots; unused slots hold zeros."""
    size = len(counts)
    mask = np.arange(slots)[None] < np.asarray(counts)[:, None]
    boxes = np.stack([rng.uniform(0.2, 0.8, (size, slots)), rng.uniform(0.1, 0.4, (size, slots))], -1)
    tokens = np.zeros((size, slots, words), np.int32)
    for i in range(size):
        for g in range(int(counts[i])):
            n = rng.integers(1, words - 1)
            tokens[i, g, 1 : 1 + n] = rng.integers(1, vocab + 1, n)
    return {
        "features": rng.standard_normal((size, frames, dim)).astype(np.float32),
        "duration": rng.uniform(1, 5, size).astype(np.float32),
        "events": {"boxes": (boxes * mask[..., None]).astype(np.float32), "tokens": tokens, "mask": mask},
        "count": np.asarray(counts, np.int32),
    }


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """Every call of `train` compiles anew; the same program is compiled once in this folder's tests."""
    before = jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_compilation_cache_dir", before[0])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", before[1])
    compilation_cache.reset_cache()


@pytest.fixture(scope="session")
def model():
    return StubCaptioner()


@pytest.fixture(scope="session")
def params(model):
    batch = make_batch(np.random.default_rng(0), [1, 2])
    return model.init(jax.random.key(0), batch["features"], batch["duration"])
