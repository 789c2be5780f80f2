"""The reader and the writer against torch itself."""

import argparse
import collections

import ml_dtypes
import numpy as np
import pytest

from lvc_jax.conversion import torch_file, torch_writer
from lvc_jax.conversion.torch_records import Tensor

torch = pytest.importorskip("torch")


def same(ours, theirs):
    """Compares what was read with what was saved, part by part."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, Tensor)
        values = theirs.detach().contiguous()
        raw = values.reshape(-1).view(torch.uint8).numpy().tobytes() if values.numel() else b""
        assert (ours.shape, ours.array().tobytes()) == (tuple(theirs.shape), raw)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            same(ours[key], value)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for part, value in zip(ours, theirs, strict=True):
            same(part, value)
    else:
        assert ours == theirs


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_training_checkpoint_in_both_containers(tmp_path, protocol, zipped):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
    base = torch.arange(24.0).reshape(4, 6)
    content = {
        "epoch": 3,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "lr_scheduler": schedule.state_dict(),
        "views": [base[1:, ::2], base.t(), base[0], base.half(), base.bfloat16(), base > 3, base.long(), base[:0]],
        "parameter": torch.nn.Parameter(base[2]),
    }
    arguments = argparse.Namespace(lr=0.1, device=torch.device("cpu"), sizes=torch.Size([2]), dtype=torch.float32)
    path = tmp_path / "file.pth"
    options = {"_use_new_zipfile_serialization": zipped, "pickle_protocol": protocol}
    torch.save({**content, "args": arguments}, path, **options)
    found = torch_file.read(path)
    assert found.pop("args").fields["lr"] == 0.1
    same(found, content)


def test_torch_reads_what_is_written(tmp_path):
    random = np.random.default_rng(0)
    arrays = {str(kind): random.standard_normal((2, 3)).astype(kind) for kind in ("float32", "float64", "float16")}
    arrays |= {"bfloat16": arrays["float32"].astype(ml_dtypes.bfloat16), "long": np.arange(3), "bool": np.ones(2, bool)}
    arrays |= {"scalar": np.array(2, np.float32), "empty": np.zeros((0, 2), np.float32), "again": arrays["float32"]}
    path = tmp_path / "file.pth"
    torch_writer.write(path, {"epoch": 300, "model": collections.OrderedDict(arrays), "optimizer": {}})
    for mapped in (False, True):
        found = torch.load(path, weights_only=True, mmap=mapped)
        assert (found["epoch"], found["optimizer"]) == (300, {})
        same(torch_file.read(path)["model"], found["model"])
        assert list(found["model"]) == list(arrays)
        assert found["model"]["again"].data_ptr() == found["model"]["float32"].data_ptr()
