"""From a config to the model and the data of a run."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
from ml_collections import ConfigDict

from lvc_jax.data.datasets import Dataset, open_dataset
from lvc_jax.data.pipeline import SampleConfig, train_batches
from lvc_jax.data.vocabulary import SentencePieceVocabulary, Vocabulary, WordVocabulary
from lvc_jax.errors import InputError
from lvc_jax.models import LiveCaptioner, ModelConfig, init_params
from lvc_jax.training.loop import Evaluate, Parts


def make_vocabulary(config: Any, sentences: Sequence[str]) -> Vocabulary:
    """The vocabulary of a run.

    Args:
        config: `kind` "words" or "sentencepiece"; `path` of a vocabulary file, or "" to make one from `sentences` with
            `min_count` (words) or `size` (sentencepiece).
        sentences: the training captions.

    Raises:
        InputError: for an unknown kind or an unusable file.
    """
    if config.kind == "words":
        return WordVocabulary.load(config.path) if config.path else WordVocabulary.build(sentences, config.min_count)
    if config.kind == "sentencepiece":
        if config.path:
            return SentencePieceVocabulary.load(config.path)
        return SentencePieceVocabulary.train(sentences, config.size)
    raise InputError(f"vocabulary.kind={config.kind!r}: choose words or sentencepiece")


def make_model_config(config: ConfigDict, feature_dim: int, vocab_size: int) -> ModelConfig:
    """The model's config, with the two sizes that the data decides.

    Raises:
        InputError: if the config names another size than the data has.
    """
    values = config.model.to_dict()
    for name, found in (("feature_dim", feature_dim), ("vocab_size", vocab_size)):
        if values[name] not in (0, found):
            raise InputError(f"model.{name}={values[name]}: the data has {found}; leave it at 0 to follow the data")
        values[name] = found
    return ModelConfig.from_dict(values)


def make_sample_config(config: ConfigDict) -> SampleConfig:
    """What one training sample is.

    A negative `silent_share` leaves silence as the videos have it. Of more events than there are queries the longest
    are kept; with the PDVC reference's losses all of them are matched, and the assignment leaves out the surplus.
    """
    slots = config.max_events
    if config.loss.count_loss != "pdvc":
        slots = min(slots, config.model.num_queries)
    return SampleConfig(
        segment_frames=tuple(config.segment_frames),
        memory=config.memory,
        num_frames=config.model.num_frames,
        max_events=slots,
        max_len=config.model.max_caption_len,
        silent_share=None if config.silent_share < 0 else config.silent_share,
        mode=config.mode,
        max_count=config.model.max_events,
    )


def assemble(config: ConfigDict, *, dataset: Dataset | None = None, evaluate: Evaluate | None = None) -> Parts:
    """Opens the data, makes the vocabulary and the model.

    Args:
        config: see `run_config.default_config`.
        dataset: default: the prepared one that the config names.
        evaluate: validation, see `loop.Parts`.

    Raises:
        InputError: if the data is not prepared or does not fit the config.
    """
    dataset = open_dataset(config.data_dir, config.dataset, config.train_split) if dataset is None else dataset
    vocabulary = make_vocabulary(config.vocabulary, dataset.sentences())
    model_config = make_model_config(config, dataset.info.dim, vocabulary.size)
    sample_config = make_sample_config(config)

    def batches(start_step: int) -> Any:
        return train_batches(
            dataset,
            vocabulary,
            sample_config,
            seed=config.seed,
            batch_size=config.batch_size,
            start_step=start_step,
            process_index=jax.process_index(),
            process_count=jax.process_count(),
            num_workers=config.num_workers,
        )

    return Parts(
        model=LiveCaptioner(model_config),
        model_config=model_config,
        init_params=functools.partial(init_params, model_config),
        batches=batches,
        vocabulary=vocabulary,
        feature_info=dataset.info,
        evaluate=evaluate,
    )
