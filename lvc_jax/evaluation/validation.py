"""The score that picks the best checkpoint while a model trains, on a fixed sample of validation videos."""

from types import SimpleNamespace
from typing import Any

import jax
from ml_collections import ConfigDict

from lvc_jax.data.datasets import open_dataset
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.vocabulary import Vocabulary
from lvc_jax.evaluation import predict
from lvc_jax.evaluation.quick import quick_score
from lvc_jax.evaluation.selection import Selection
from lvc_jax.models.config import ModelConfig


class Validation:
    """Callable (params, step) -> {"live_score_rouge_l": fraction}; the same videos at every call.

    Args:
        config: a training config; `eval` names the split, Δt and the number of videos.
        model_config, vocabulary, feature_info: of the model that trains.

    Raises:
        InputError: if the split is missing or empty, or has other features than the training split.
    """

    def __init__(
        self, config: ConfigDict, model_config: ModelConfig, vocabulary: Vocabulary, feature_info: FeatureInfo
    ):
        dataset = open_dataset(config.data_dir, config.dataset, config.eval.split)
        predict.check_features(feature_info, dataset.info, f"{config.dataset} {config.eval.split}")
        self._config = config
        self._selection = Selection(dataset, config.eval.max_videos or None, seed=config.seed)
        self._references = self._selection.references()
        self._model = {"model_config": model_config, "vocabulary": vocabulary, "feature_info": feature_info}

    def __call__(self, params: Any, step: int) -> dict[str, float]:
        # One device is enough for a handful of videos, and the training mesh keeps its own copies.
        params = jax.device_put(params, jax.local_devices()[0])
        model = SimpleNamespace(config=self._config, params=params, **self._model)
        frames = self._config.eval.segment_frames
        stream = predict.stream_config(model, self._selection, frames)
        items = predict.caption(model, self._selection, frames, stream)
        return quick_score(lambda ids: {video: items[video] for video in ids}, self._references, frames)
