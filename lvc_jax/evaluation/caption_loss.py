"""How well a model predicts the words of validation captions, beside a model that knows only how often words occur."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lvc_jax.data.datasets import Dataset
from lvc_jax.data.pipeline import eval_batches
from lvc_jax.data.pipeline_samples import SampleConfig
from lvc_jax.data.vocabulary import Vocabulary
from lvc_jax.models import LiveCaptioner
from lvc_jax.models.config import ModelConfig
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.losses import caption_nll, compute

Batch = dict[str, Any]


def unigram_log_probs(vocab: Vocabulary, sentences: Iterable[str], max_len: int) -> Float[np.ndarray, " V+1"]:
    """log p of every token id, the closing 0 included, from the training captions with add-one smoothing."""
    counts = np.ones(vocab.size + 1, np.float64)
    for sentence in sentences:
        ids = vocab.encode(sentence, max_len)
        words = ids[ids > 0]
        np.add.at(counts, words, 1)
        counts[0] += 1
    return np.log(counts / counts.sum())


@functools.partial(jax.jit, static_argnames=("config", "weights"))
def _model_loss(config: ModelConfig, weights: LossWeights, params: Any, batch: Batch) -> Float[Array, ""]:
    _, terms = compute(LiveCaptioner(config), params, batch, weights, deterministic=True)
    return terms["loss_caption"]


def _unigram_loss(table: Float[np.ndarray, " V+1"], tokens: Int[np.ndarray, "B G W"], mask: np.ndarray) -> float:
    nll = caption_nll(jnp.asarray(table, jnp.float32)[tokens[..., 1:]], jnp.asarray(tokens))
    return float(jnp.where(mask, nll, 0).sum() / mask.sum())


def _weighted(batches: Iterable[Batch], loss: Callable[[Batch], float]) -> tuple[float, int]:
    total, pairs = 0.0, 0
    for batch in batches:
        number = int(batch["events"]["mask"].sum())
        if number:
            total += number * loss(batch)
            pairs += number
    return total / max(1, pairs), pairs


def caption_losses(
    model: Any,
    dataset: Dataset,
    train_sentences: Iterable[str],
    cfg: SampleConfig,
    *,
    videos: Sequence[int] | None = None,
    batch_size: int = 16,
) -> dict[str, float]:
    """The training's caption loss (mean over captions of the negative log-likelihood per word, nats) on another split.

    Every figure is over the same windows: one drawn from each video.

    Args:
        model: a loaded checkpoint: `model_config`, `params`, `vocabulary`, `config.loss`.
        dataset: the videos.
        train_sentences: captions of the training split, for the unigram model.
        cfg: what a window is.
        videos: indices of the videos that count; None takes all.
        batch_size: windows at once; at least 2, or shuffled features would be the video's own.

    Returns:
        model: the checkpoint; shuffled_features: the same with each window's features taken from another video of the
        batch; unigram: words drawn by their frequency in the training captions; captions: how many were scored.
    """
    weights = LossWeights.from_dict(model.config.loss.to_dict())
    loss = functools.partial(_model_loss, model.model_config, weights, model.params)
    table = unigram_log_probs(model.vocabulary, train_sentences, cfg.max_len)

    def windows() -> Iterator[Batch]:
        for batch in eval_batches(dataset, model.vocabulary, cfg, batch_size=max(2, batch_size), videos=videos):
            real = batch.pop("weight") > 0
            batch["events"]["mask"] &= real[:, None]
            yield batch

    def shuffled() -> Iterator[Batch]:
        for batch in windows():
            yield {**batch, "features": np.roll(batch["features"], 1, axis=0)}

    own, captions = _weighted(windows(), lambda batch: float(loss(batch)))
    other, _ = _weighted(shuffled(), lambda batch: float(loss(batch)))
    plain, _ = _weighted(windows(), lambda b: _unigram_loss(table, b["events"]["tokens"], b["events"]["mask"]))
    return {"model": own, "shuffled_features": other, "unigram": plain, "captions": captions}


def caption_loss_note(losses: dict[str, float]) -> str:
    """One sentence for a report."""
    return (
        f"Caption loss over {losses['captions']} captions (nats a word): model {losses['model']:.3f}, on shuffled "
        f"features {losses['shuffled_features']:.3f}, unigram model {losses['unigram']:.3f}."
    )
