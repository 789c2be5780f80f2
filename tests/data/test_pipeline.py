"""Batches are a function of (seed, step): over hosts, restarts and worker processes."""

import itertools

import numpy as np
import pytest

from lvc_jax.data import pipeline
from lvc_jax.data.datasets import Dataset, writing
from lvc_jax.data.pipeline_samples import SampleConfig
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.errors import InputError
from tests.data.tiny import TinyCaptions, make_source

CFG = SampleConfig(segment_frames=(24, 60), memory=3, num_frames=6, max_events=4, max_len=8, silent_share=0.3)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Dataset:
    folder, _, _ = writing.write(TinyCaptions, make_source(train=12), tmp_path_factory.mktemp("data"))
    return Dataset(folder, ["train"])


@pytest.fixture(scope="module")
def vocab(dataset) -> WordVocabulary:
    return WordVocabulary.build(dataset.sentences())


def take(dataset, vocab, count: int, *, cfg: SampleConfig = CFG, batch_size: int = 8, **options) -> list[dict]:
    batches = pipeline.train_batches(dataset, vocab, cfg, batch_size=batch_size, **{"seed": 3, **options})
    taken = list(itertools.islice(batches, count))
    batches.close()
    return taken


def flat(batch: dict) -> dict[str, np.ndarray]:
    return {**{k: v for k, v in batch.items() if k != "events"}, **batch["events"]}


def assert_equal(one: dict, two: dict) -> None:
    one, two = flat(one), flat(two)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def test_shapes(dataset, vocab):
    (batch,) = take(dataset, vocab, 1)
    found = {name: (value.shape, value.dtype.name) for name, value in flat(batch).items()}
    assert found == {
        "features": ((8, 6, 3), "float32"),
        "duration": ((8,), "float32"),
        "boxes": ((8, 4, 2), "float32"),
        "tokens": ((8, 4, 8), "int32"),
        "mask": ((8, 4), "bool"),
        "count": ((8,), "int32"),
    }


def test_same_seed_same_batches_other_seed_others(dataset, vocab):
    one, two, other = (take(dataset, vocab, 4, seed=seed) for seed in (3, 3, 4))
    for a, b in zip(one, two):
        assert_equal(a, b)
    assert not all(np.array_equal(a["features"], b["features"]) for a, b in zip(one, other))


@pytest.mark.parametrize("hosts", [2, 4])
def test_hosts_share_the_global_batch(dataset, vocab, hosts):
    whole = take(dataset, vocab, 4)
    parts = [take(dataset, vocab, 4, process_index=p, process_count=hosts) for p in range(hosts)]
    for step in range(4):
        for p in range(hosts):
            want, got = flat(whole[step]), flat(parts[p][step])
            for name in want:
                np.testing.assert_array_equal(got[name], want[name][p::hosts], err_msg=name)


def test_resume_by_step(dataset, vocab):
    whole = take(dataset, vocab, 7)
    for a, b in zip(whole[5:], take(dataset, vocab, 2, start_step=5)):
        assert_equal(a, b)


def test_each_epoch_has_each_video_once_in_a_new_order(dataset, vocab):
    # The second feature channel is the number of rows, which tells most of the videos apart.
    epochs = [batch["features"][:, 0, 1] for batch in take(dataset, vocab, 3, batch_size=12)]
    want = sorted(dataset.spans(i).n_rows for i in range(12))
    assert [sorted(epoch.tolist()) for epoch in epochs] == [want] * 3
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == 3


def test_unshuffled_epochs_keep_the_order(dataset, vocab):
    (batch,) = take(dataset, vocab, 1, batch_size=12, epochs_shuffle=False)
    assert batch["features"][:, 0, 1].tolist() == [dataset.spans(i).n_rows for i in range(12)]


def test_windows_of_a_video_differ_between_epochs(dataset, vocab):
    batches = take(dataset, vocab, 4, batch_size=12, epochs_shuffle=False)
    assert len({batch["features"].tobytes() for batch in batches}) == 4


def test_batch_rows_are_samples(dataset, vocab):
    (batch,) = take(dataset, vocab, 1, cfg=SampleConfig(mode="video", num_frames=5, max_len=8), epochs_shuffle=False)
    for row in range(8):
        sample = pipeline.make_sample(dataset[row], 0, 0, SampleConfig(mode="video", num_frames=5, max_len=8), vocab)
        for name, value in flat(batch).items():
            np.testing.assert_array_equal(value[row], sample[name], err_msg=name)


def test_evaluation_batches_are_fixed_and_padded(dataset, vocab):
    one, two = (list(pipeline.eval_batches(dataset, vocab, CFG, batch_size=5)) for _ in range(2))
    assert [batch["weight"].tolist() for batch in one] == [[1.0] * 5, [1.0] * 5, [1.0, 1.0, 0.0, 0.0, 0.0]]
    for a, b in zip(one, two):
        assert_equal(a, b)
    assert len(list(pipeline.eval_batches(dataset, vocab, CFG, batch_size=5, windows_per_video=2))) == 5


def test_evaluation_hosts_share_the_batches(dataset, vocab):
    whole = list(pipeline.eval_batches(dataset, vocab, CFG, batch_size=8))
    for p in range(2):
        part = list(pipeline.eval_batches(dataset, vocab, CFG, batch_size=8, process_index=p, process_count=2))
        assert [len(batch["weight"]) for batch in part] == [4, 4]
        np.testing.assert_array_equal(part[0]["features"], whole[0]["features"][p::2])
        assert part[1]["weight"].sum() == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 8, "process_count": 3}, "multiple of the 3 hosts"),
        ({"batch_size": 8, "process_count": 2, "process_index": 2}, "process_index"),
    ],
)
def test_bad_batches(dataset, vocab, options, words):
    with pytest.raises(InputError, match=words):
        pipeline.train_batches(dataset, vocab, CFG, seed=0, **options)


def test_a_closed_stream_ends(dataset, vocab):
    batches = pipeline.train_batches(dataset, vocab, CFG, seed=0, batch_size=4)
    next(batches)
    batches.close()
    batches.close()
    assert next(batches, None) is None


@pytest.mark.slow
def test_worker_processes_change_nothing(dataset, vocab):
    for a, b in zip(take(dataset, vocab, 4), take(dataset, vocab, 4, num_workers=2)):
        assert_equal(a, b)
