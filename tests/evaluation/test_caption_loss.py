"""The caption loss of validation captions, beside words drawn by their frequency."""

import dataclasses
import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from lvc_jax.data.datasets import Dataset, writing
from lvc_jax.data.pipeline_samples import SampleConfig
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.evaluation.caption_loss import caption_loss_note, caption_losses, unigram_log_probs
from lvc_jax.models import ModelConfig, init_params
from lvc_jax.training.loss_weights import LossWeights
from tests.data.tiny import INFO, TinyCaptions, make_source

CFG = SampleConfig(segment_frames=(300,), num_frames=8, max_events=2, max_len=8)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder, _, _ = writing.write(TinyCaptions, make_source(train=12), tmp_path_factory.mktemp("data"))
    return Dataset(folder, ["train"])


@pytest.fixture(scope="module")
def captioner(dataset: Dataset) -> SimpleNamespace:
    vocabulary = WordVocabulary.build(dataset.sentences())
    config = ModelConfig(
        feature_dim=INFO.dim,
        vocab_size=vocabulary.size,
        hidden_dim=16,
        num_frames=8,
        num_levels=2,
        num_heads=2,
        num_points=2,
        encoder_layers=1,
        decoder_layers=1,
        ff_dim=16,
        num_queries=3,
        embed_dim=8,
        rnn_dim=8,
        max_caption_len=8,
    )
    params = init_params(config, jax.random.key(0))
    settings = ConfigDict({"loss": dataclasses.asdict(LossWeights())})
    return SimpleNamespace(config=settings, model_config=config, params=params, vocabulary=vocabulary)


def test_unigram_counts_words_and_ends() -> None:
    vocabulary = WordVocabulary.build(["a a b", "a"])  # ids: a, b, UNK
    table = np.exp(unigram_log_probs(vocabulary, ["a a b", "a zebra"], 8))
    counts = {0: 2, **{vocabulary.encode(word, 3)[1]: n for word, n in (("a", 3), ("b", 1), ("zebra", 1))}}
    total = sum(counts.values()) + vocabulary.size + 1
    for token, count in counts.items():
        assert table[token] == pytest.approx((count + 1) / total)
    assert table.sum() == pytest.approx(1)


def test_an_untrained_model_is_as_good_as_chance(dataset: Dataset, captioner: SimpleNamespace) -> None:
    losses = caption_losses(captioner, dataset, dataset.sentences(), CFG, batch_size=4)
    chance = math.log(captioner.vocabulary.size + 1)
    assert losses["captions"] > 6
    assert losses["model"] == pytest.approx(chance, rel=0.05)
    # Knowing the words' frequencies is better than nothing, and every figure does not depend on the batch.
    assert losses["unigram"] < losses["model"]
    again = caption_losses(captioner, dataset, dataset.sentences(), CFG, batch_size=7)
    for name in ("model", "unigram", "captions"):
        assert again[name] == pytest.approx(losses[name], rel=1e-5)
    assert losses["shuffled_features"] != losses["model"]


def test_the_note_names_every_figure() -> None:
    note = caption_loss_note({"model": 1.25, "shuffled_features": 2.5, "unigram": 3.125, "captions": 7})
    assert "7 captions" in note
    assert all(figure in note for figure in ("1.250", "2.500", "3.125"))
