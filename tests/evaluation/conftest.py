"""A small untrained captioner and a small data set in memory."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets import Span, VideoRecord
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.models import ModelConfig, init_params

INFO = FeatureInfo(backbone="numbers", dim=4, stride_s=1.0, window_s=1.0)


class Memory:
    """Three videos of 4, 7 and 9.5 seconds, one row of features a second."""

    info = INFO
    name = "memory"
    caption_kind = "synthetic"
    ids = ("a", "b", "c")

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        durations = (4.0, 7.0, 9.5)
        self._features = [rng.normal(size=(int(np.ceil(d)), 4)).astype(np.float32) for d in durations]
        events = [
            ((Event(0.0, 3.0, "a man runs"),), (Event(0.0, 2.0, "he runs"),)),
            ((Event(1.0, 3.0, "a dog barks"), Event(2.0, 6.0, "a man runs")),),
            ((),),
        ]
        self._spans = [Span(d, e, len(f)) for d, e, f in zip(durations, events, self._features)]

    def spans(self, i: int) -> Span:
        return self._spans[i]

    def sentences(self) -> list[str]:
        return [event.sentence for span in self._spans for events in span.references for event in events]

    def __getitem__(self, i: int) -> VideoRecord:
        span = self._spans[i]
        return VideoRecord(self.ids[i], span.duration, span.references, self._features[i], INFO)


@pytest.fixture(scope="session")
def dataset() -> Memory:
    return Memory()


@pytest.fixture(scope="session")
def model() -> SimpleNamespace:
    vocabulary = WordVocabulary.build(["a man runs", "a dog barks", "he runs"])
    config = ModelConfig(
        feature_dim=4,
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
        max_events=3,
        embed_dim=8,
        rnn_dim=8,
        max_caption_len=6,
    )
    settings = {"segment_frames": 60, "memory": 2, "consolidation": "slot", "min_events": 1}
    return SimpleNamespace(
        config=ConfigDict(
            {
                "streaming": settings,
                "train_split": "train",
                "dataset": "memory",
                "data_dir": "nowhere",
                "segment_frames": (24, 60),
            }
        ),
        model_config=config,
        params=init_params(config, jax.random.key(0)),
        vocabulary=vocabulary,
        feature_info=INFO,
        step=3,
        which="best",
    )
