"""The peers of the deformable attention in PyTorch, and one problem in the form that each of them takes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Work = Callable[[], Any]


class Problem(NamedTuple):
    """One call: arrays as `deformable_attention` takes them, and the gradient of its output.

    Attributes:
        value: [B, S, H, C]; locations, weights: [B, Q, H, L, P]; gradient: [B, Q, H, C].
        level_lengths: rows of each level.
    """

    value: np.ndarray
    locations: np.ndarray
    weights: np.ndarray
    gradient: np.ndarray
    level_lengths: tuple[int, ...]


def draw(batch: int, queries: int, heads: int, channels: int, level_lengths: tuple[int, ...], points: int) -> Problem:
    """Normal values; locations in [-0.1, 1.1], so that some samples lie outside; weights that sum to one."""
    rng = np.random.default_rng(0)
    shape = (batch, queries, heads, len(level_lengths), points)
    scores = np.exp(rng.standard_normal(shape))
    weights = scores / scores.sum(axis=(-2, -1), keepdims=True)
    arrays = (
        rng.standard_normal((batch, sum(level_lengths), heads, channels)),
        rng.uniform(-0.1, 1.1, shape),
        weights,
        rng.standard_normal((batch, queries, heads, channels)),
    )
    return Problem(*(array.astype(np.float32) for array in arrays), level_lengths)


def torch_works(problem: Problem, threads: int) -> dict[str, dict[str, Work]]:
    """{peer: {"forward": work, "forward_backward": work}}; each work returns its results as numpy arrays.

    `torch_grid_sample` is torch's own `grid_sample`, a level at a time, in one dimension by pictures of height one.
    `torch_ms_deform_attn` is the operator of the package of that name; it is left out where it is not installed.
    """
    import torch

    if threads:
        torch.set_num_threads(threads)
    value, weights = torch.from_numpy(problem.value), torch.from_numpy(problem.weights)
    along = torch.from_numpy(problem.locations)
    points = torch.stack([along, torch.full_like(along, 0.5)], dim=-1)
    gradient = torch.from_numpy(problem.gradient).flatten(2)
    attends: dict[str, Callable[..., Any]] = {"torch_grid_sample": _by_grid_sample(problem.level_lengths)}
    try:
        from torch_ms_deform_attn import ms_deform_attn
    except ImportError:
        pass
    else:
        shapes = torch.tensor([[1, length] for length in problem.level_lengths])
        starts = torch.tensor([0, *np.cumsum(problem.level_lengths)[:-1].tolist()])
        attends["torch_ms_deform_attn"] = lambda v, p, w: ms_deform_attn(v, shapes, starts, p, w, 64)

    def works(attend: Callable[..., Any]) -> dict[str, Work]:
        def forward() -> list[np.ndarray]:
            with torch.no_grad():
                return [attend(value, points, weights).numpy()]

        def forward_backward() -> list[np.ndarray]:
            inputs = [tensor.detach().requires_grad_() for tensor in (value, points, weights)]
            out = attend(*inputs)
            out.backward(gradient)
            d_value, d_points, d_weights = (tensor.grad.numpy() for tensor in inputs)
            return [out.detach().numpy(), d_value, d_points[..., 0], d_weights]

        return {"forward": forward, "forward_backward": forward_backward}

    return {name: works(attend) for name, attend in attends.items()}


def _by_grid_sample(level_lengths: tuple[int, ...]) -> Callable[..., Any]:
    import torch
    from torch.nn import functional

    def attend(value: Any, points: Any, weights: Any) -> Any:
        batch, _, heads, channels = value.shape
        queries = points.shape[1]
        grid = (points * 2 - 1).transpose(1, 2)  # [B, H, Q, L, P, 2] in [-1, 1]
        samples = []
        for level, rows in enumerate(value.split(list(level_lengths), dim=1)):
            picture = rows.permute(0, 2, 3, 1).reshape(batch * heads, channels, 1, -1)
            places = grid[:, :, :, level].reshape(batch * heads, queries, -1, 2)
            samples.append(functional.grid_sample(picture, places, mode="bilinear", align_corners=False))
        shares = weights.transpose(1, 2).reshape(batch * heads, 1, queries, -1)
        out = (torch.cat(samples, dim=-1) * shares).sum(-1)  # [B * H, C, Q]
        return out.reshape(batch, heads * channels, queries).transpose(1, 2).contiguous()

    return attend
