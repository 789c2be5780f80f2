"""Colour moments: what each hue does in a short window, read from the pixels by closed formulas, nothing learned.

The picture is resized to 48 rows. Six overlapping hue classes weight every pixel by its chroma (which is linear in how
much of the pixel a coloured thing covers, so edges count in part). Each class gets the size, place and spread of its
weight, moments that do not change with place, size and rotation (they tell a circle from a square from a star), and how
all of these change inside the window: velocity, growth, turning, blinking. Dark, grey and bright pixels get their place
and size, a coarse grid the change of luminance. Meant for simple scenes with a few coloured things; on other videos the
numbers stay finite and of about unit size.

Layout of a row: three slots of 24 (which hue, then its 18 numbers), 6 hues x 5, 3 greys x 4, 12 cells, 2 global = 128.
The slots hold the hue classes that change, in the order of the hues, then those that are merely there: a reader learns
"it grows" once and not once a colour.
"""

import functools

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from jaxtyping import Float, UInt8

from lvc_jax.backbones.clocked import ClockedExtractor
from lvc_jax.backbones.protocol import RowClock

ROWS = 48  # height of the reduced picture; its width follows the aspect ratio
_HUES = 6  # class centres at 0, 60, ... 300 degrees
_MIN_CHROMA = 0.1  # below: codec and sensor noise, skin, wood, walls
_SMALL = 0.002  # fraction of the picture at which a class counts as half present
_GRID = (3, 4)
_PER_HUE = 18
_SLOTS = 3
_BRIEF = 5  # numbers per hue outside the slots
_SEEN = 0.08  # size below which a hue is not given a slot: a speck, the blend where two colours touch
_ACTIVE = 0.2  # change that counts as change: above the noise of a thing at rest, below the slowest motion
_LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_DIM = _SLOTS * (_HUES + _PER_HUE) + _HUES * _BRIEF + 3 * 4 + _GRID[0] * _GRID[1] + 2


class ColourMoments(ClockedExtractor):
    """The extractor `colour_moments`: 128 numbers per 0.4 s."""

    info = RowClock("colour_moments", _DIM, 0.4, 0.4)

    def __init__(self) -> None:
        self._resizer = VideoReformatter()

    def reduce(self, frame: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "48 w2 3"]:
        """Area-averages a frame to 48 rows, 12 to 192 columns."""
        height, width = frame.shape[:2]
        columns = int(np.clip(round(ROWS * width / height / 4) * 4, 12, 192))
        if (height, width) == (ROWS, columns):
            return frame
        if (height, width) == (2 * ROWS, 2 * columns):
            # The average that swscale takes (to one grey level), without waking threads for a tiny picture.
            pairs = frame[::2].astype(np.uint16) + frame[1::2]
            return ((pairs[:, ::2] + pairs[:, 1::2] + 2) >> 2).astype(np.uint8)
        whole = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
        return self._resizer.reformat(whole, columns, ROWS, interpolation="AREA").to_ndarray()

    def describe(
        self, times: Float[np.ndarray, " f"], pictures: UInt8[np.ndarray, "f h w 3"]
    ) -> Float[np.ndarray, " dim"]:
        """Features of one window, each of about unit size."""
        rgb = pictures.reshape(len(pictures), -1, 3).astype(np.float32) / 255.0
        aspect = pictures.shape[2] / pictures.shape[1]
        basis = _basis(pictures.shape[1], pictures.shape[2])
        red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
        chroma = np.maximum(np.maximum(red, green), blue) - np.minimum(np.minimum(red, green), blue)
        luminance = rgb @ _LUMINANCE
        coloured = np.flatnonzero((chroma > _MIN_CHROMA).any(0))
        weight = _hue_weights(rgb[:, coloured], chroma[:, coloured])
        parts: list[np.ndarray] = [
            *_arrange(_hue_features(times, weight, basis[coloured], aspect, rgb.shape[1])),
            _grey_features(times, chroma, luminance, basis, aspect).ravel(),
            _luminance_change(luminance, pictures.shape[1:3]),
            np.array([2 * luminance.mean() - 1, 4 * luminance.std()]),
        ]
        return np.clip(np.concatenate(parts), -8.0, 8.0).astype(np.float32)


@functools.lru_cache(maxsize=8)
def _basis(height: int, width: int) -> Float[np.ndarray, "p 15"]:
    """Polynomials of z = x + iy at each pixel, picture height 2: 1, z..z^5 (real, imaginary), |z|^2, z|z|^2, |z|^4."""
    y, x = np.meshgrid((np.arange(height) + 0.5) / height * 2 - 1, np.arange(width) + 0.5, indexing="ij")
    z = ((x / height * 2 - width / height) + 1j * y).ravel()
    powers = [z**n for n in range(1, 6)]
    square = np.abs(z) ** 2
    columns = [np.ones(z.size), *[part for power in powers for part in (power.real, power.imag)]]
    columns += [square, (z * square).real, (z * square).imag, square**2]
    return np.stack(columns, axis=1)


def _hue_weights(rgb: Float[np.ndarray, "f n 3"], chroma: Float[np.ndarray, "f n"]) -> Float[np.ndarray, "f 6 n"]:
    """How much of each pixel belongs to each hue class, in [0, 1]."""
    frame, pixel = np.nonzero(chroma > _MIN_CHROMA)
    red, green, blue = rgb[frame, pixel].T
    top, range_ = np.maximum(np.maximum(red, green), blue), chroma[frame, pixel]
    sector = np.where(
        top == red,
        (green - blue) / range_ % 6.0,
        np.where(top == green, (blue - red) / range_ + 2.0, (red - green) / range_ + 4.0),
    )
    strength = (range_ - _MIN_CHROMA) / (1 - _MIN_CHROMA)
    lower = np.floor(sector).astype(np.int32)
    share = sector - lower
    # Hues within 18 degrees of a class centre are wholly that class: a far speck of weight would upset high moments.
    share = np.clip(2.5 * share - 0.75, 0.0, 1.0)
    weight = np.zeros((len(rgb), _HUES, rgb.shape[1]))
    weight[frame, lower % _HUES, pixel] = strength * (1 - share)
    weight[frame, (lower + 1) % _HUES, pixel] = strength * share
    return weight


def _slope(times: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted least-squares slope per second along the first axis; 0 where fewer than two frames carry weight."""
    shape = (-1,) + (1,) * (values.ndim - 1)
    total = weights.sum(0) + 1e-12
    offset = times.reshape(shape) - (weights * times.reshape(shape)).sum(0) / total
    variance = (weights * offset**2).sum(0) / total
    covariance = (weights * offset * values).sum(0) / total
    return np.where(variance > 1e-6, covariance / np.maximum(variance, 1e-6), 0.0)


def _mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (values * weights).sum(0) / (weights.sum(0) + 1e-12)


def _hue_features(
    times: np.ndarray, weight: np.ndarray, basis: np.ndarray, aspect: float, pixels: int
) -> Float[np.ndarray, "6 18"]:
    """[hues, 18]: size, place, spread, shape, motion, growth, blinking, turning of each hue class."""
    raw = weight @ basis  # [F, hues, 15]
    mass = raw[..., 0]
    safe = mass + 1e-9
    area = mass / pixels
    covered = mass**2 / ((weight**2).sum(-1) + 1e-9) / pixels  # without the colour's strength
    centre, spread, shape, kurtosis = _central(raw, safe)
    # Lengths are in half picture heights: a class that covers the fraction c has an area of 4 * aspect * c.
    compact = 4 * aspect * covered / (2 * np.pi * spread**2)

    present = area.max(0) / (area.max(0) + _SMALL)
    x, y = centre.real / aspect, centre.imag
    turn = _turning(shape, mass)
    features = [
        4 * np.sqrt(area.mean(0)),
        2 * _mean(x, area),
        2 * _mean(y, area),
        1.5 * np.log(_mean(spread, area) + 1e-3) + 2.5,
        8 * (_mean(compact, area) - 0.8),
        *(3 * _mean(np.abs(shape[..., n]), area) for n in range(4)),
        5 * (_mean(kurtosis, area) - 1.4),
        6 * _slope(times, x, area),
        6 * _slope(times, y, area),
        4 * _slope(times, np.log(spread + 1e-3), area),
        2 * (area.max(0) - area.min(0)) / (area.max(0) + area.min(0) + _SMALL),
        *(2 * turn[..., n] for n in range(3)),
        3 * np.abs(turn).max(-1),
    ]
    return _compress(np.stack(features, axis=-1)) * present[:, None]


def _arrange(hues: Float[np.ndarray, "6 18"]) -> tuple[np.ndarray, np.ndarray]:
    """The slots [3 * 24] and a brief account of every hue [6 * 5]: size, x, y, change, whether it changes."""
    size = hues[:, 0]
    change = np.abs(hues[:, [10, 11, 12, 13, 17]]).max(-1)
    active = (change > _ACTIVE) & (size > _SEEN)
    order = np.lexsort((np.arange(_HUES), -1 * (size > _SEEN), ~active))
    slots = np.zeros((_SLOTS, _HUES + _PER_HUE))
    for slot, hue in zip(slots, order[:_SLOTS]):
        if size[hue] > _SEEN:
            slot[hue] = 1.0
            slot[_HUES:] = hues[hue]
    brief = np.stack([*hues[:, :3].T, change, active.astype(float)], axis=-1)
    return slots.ravel(), brief.ravel()


def _central(raw: np.ndarray, safe: np.ndarray) -> tuple[np.ndarray, ...]:
    """Centre (complex), spread, symmetry of order 2..5 (complex, [.., 4]) and kurtosis, free of place and size."""
    z = [np.ones_like(safe, dtype=complex)]
    z += [(raw[..., 2 * n - 1] + 1j * raw[..., 2 * n]) / safe for n in range(1, 6)]
    square, cubic, fourth = raw[..., 11] / safe, (raw[..., 12] + 1j * raw[..., 13]) / safe, raw[..., 14] / safe
    c = z[1]
    variance = np.maximum(square - np.abs(c) ** 2, 1e-5)
    central = [
        z[2] - c**2,
        z[3] - 3 * z[2] * c + 2 * c**3,
        z[4] - 4 * z[3] * c + 6 * z[2] * c**2 - 3 * c**4,
        z[5] - 5 * z[4] * c + 10 * z[3] * c**2 - 10 * z[2] * c**3 + 4 * c**5,
    ]
    shape = np.stack([m / variance ** (0.5 * (n + 2)) for n, m in enumerate(central)], axis=-1)
    size = np.abs(c) ** 2
    around = fourth - 4 * (cubic * c.conj()).real + 2 * (z[2] * c.conj() ** 2).real + 4 * square * size - 3 * size**2
    return c, np.sqrt(variance), shape, around / variance**2


def _turning(shape: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """[hues, 3]: mean sine of the phase step between frames, of the symmetries of order 3, 4 and 5."""
    if len(shape) < 2:
        return np.zeros((shape.shape[1], 3))
    step = shape[1:, :, 1:] * shape[:-1, :, 1:].conj()
    both = np.minimum(mass[1:], mass[:-1])[..., None]
    return (both * step.imag).sum(0) / ((both * (np.abs(step) + 0.02)).sum(0) + 1e-9)


def _grey_features(
    times: np.ndarray, chroma: np.ndarray, luminance: np.ndarray, basis: np.ndarray, aspect: float
) -> np.ndarray:
    """[3, 4]: fraction, x, y and change of the dark, grey and bright pixels."""
    colourless = np.clip(1 - 4 * chroma, 0, 1)
    middle = np.clip(1 - np.abs(luminance - 0.5) * 3, 0, 1)
    dark = np.where(luminance < 0.5, 1 - middle, 0)
    bright = np.where(luminance >= 0.5, 1 - middle, 0)
    weight = np.stack([dark, middle, bright], axis=1) * colourless[:, None]
    raw = weight @ basis[:, :3].astype(np.float32)
    area = raw[..., 0] / chroma.shape[-1]
    mass = raw[..., 0].sum(0) + 1.0
    columns = [
        2 * area.mean(0) - 1,
        3 * raw[..., 1].sum(0) / mass / aspect,
        3 * raw[..., 2].sum(0) / mass,
        20 * _slope(times, area, np.ones_like(area)),
    ]
    return _compress(np.stack(columns, axis=-1))


def _luminance_change(luminance: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """[12]: mean absolute change of luminance between frames on a 3 x 4 grid."""
    rows, columns = _GRID
    if len(luminance) < 2:
        return np.zeros(rows * columns)
    change = np.abs(np.diff(luminance, axis=0)).mean(0).reshape(size)
    cells = change.reshape(rows, size[0] // rows, columns, size[1] // columns).mean((1, 3))
    return 3 * np.sqrt(cells).ravel()


def _compress(values: np.ndarray) -> np.ndarray:
    """Linear near zero, like a square root far out; odd."""
    return np.sign(values) * (np.sqrt(1 + 2 * np.abs(values)) - 1)
