"""Draws a scene and writes it as a real mp4 file."""

import colorsys
import math
import os
from typing import Any

import av
import numpy as np
from jaxtyping import Float, UInt8

from lvc_jax.data.datasets.moving_shapes_actors import EXTENT, HEIGHT, WIDTH, Actor
from lvc_jax.data.datasets.moving_shapes_grammar import COLOURS
from lvc_jax.data.datasets.moving_shapes_scene import Scene
from lvc_jax.files import atomic_write

FPS = 10
_NOISE_FIELDS = 6
_NOISE_SIGMA = 1.5  # grey levels
_STAR_INNER = 0.45
# Size of each shape that has the area of a circle of radius 1.
_SQUARE_HALF = math.sqrt(math.pi) / 2
_TRIANGLE_INNER = math.sqrt(math.pi / (3 * math.sqrt(3)))
_CROSS_ARM = math.sqrt(math.pi / 20)  # half width of an arm; the arm reaches three times as far
_STAR_OUTER = math.sqrt(math.pi / (5 * _STAR_INNER * math.sin(math.pi / 5)))


def backgrounds(rng: np.random.Generator) -> Float[np.ndarray, "n h w 3"]:
    """A grey gradient under a few fields of sensor noise, grey levels 0..255."""
    y, x = np.meshgrid(np.linspace(-1, 1, HEIGHT), np.linspace(-1, 1, WIDTH), indexing="ij")
    direction, level, contrast = rng.uniform(0, 2 * math.pi), rng.uniform(40, 90), rng.uniform(0, 25)
    gradient = level + contrast * (x * math.cos(direction) + y * math.sin(direction))
    noise = rng.normal(0, _NOISE_SIGMA, (_NOISE_FIELDS, HEIGHT, WIDTH))
    return np.repeat((gradient + noise)[..., None], 3, axis=-1).astype(np.float32)


def draw(scene: Scene, time: float, background: Float[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "h w 3"]:
    """The picture at a time in seconds."""
    picture = background.copy()
    for actor in scene.actors:
        pose = actor.pose(time)
        if pose is not None:
            _paint(picture, actor, *pose)
    return np.clip(picture, 0, 255).astype(np.uint8)


def write_video(scene: Scene, path: str | os.PathLike) -> None:
    """Renders the scene to an mp4 file (H.264 where PyAV has x264, else MPEG-4) that appears only when complete."""
    fields = backgrounds(np.random.default_rng((*scene.seed, 1)))
    with atomic_write(path, "wb") as file, av.open(file, mode="w", format="mp4") as container:
        stream = _stream(container)
        for index in range(round(scene.duration * FPS)):
            picture = draw(scene, index / FPS, fields[index % _NOISE_FIELDS])
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _stream(container: Any) -> Any:
    if "libx264" in av.codecs_available:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "ultrafast", "crf": "20"})
    else:
        stream = container.add_stream("mpeg4", rate=FPS, options={"qscale": "3"})
    stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    stream.thread_count = 1
    return stream


def _paint(picture: np.ndarray, actor: Actor, x: float, y: float, radius: float, angle: float) -> None:
    reach = EXTENT * radius + 2
    left, right = max(int(x - reach), 0), min(int(x + reach) + 2, WIDTH)
    top, bottom = max(int(y - reach), 0), min(int(y + reach) + 2, HEIGHT)
    if left >= right or top >= bottom:
        return
    dx = np.arange(left, right, dtype=np.float32) + 0.5 - x
    dy = (np.arange(top, bottom, dtype=np.float32) + 0.5 - y)[:, None]
    cos, sin = math.cos(angle), math.sin(angle)
    depth = _depth(actor.shape, (cos * dx + sin * dy) / radius, (cos * dy - sin * dx) / radius) * radius
    cover = np.clip(depth + 0.5, 0, 1)[..., None]
    patch = picture[top:bottom, left:right]
    patch += cover * (_rgb(actor) - patch)


def _depth(shape: str, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How deep a point lies inside a shape of the area of the unit circle; negative outside. v points down."""
    if shape == "circle":
        return 1.0 - np.hypot(u, v)
    if shape == "square":
        return _SQUARE_HALF - np.maximum(np.abs(u), np.abs(v))
    if shape == "triangle":
        sides = [u * math.cos(turn) + v * math.sin(turn) for turn in (math.pi / 2, -math.pi / 6, -5 * math.pi / 6)]
        return _TRIANGLE_INNER - np.maximum(np.maximum(sides[0], sides[1]), sides[2])
    if shape == "cross":
        long, short = np.maximum(np.abs(u), np.abs(v)), np.minimum(np.abs(u), np.abs(v))
        return np.minimum(3 * _CROSS_ARM - long, _CROSS_ARM - short)
    # The star: fold the plane into half a ray; its edge is the line from the outer to the inner corner.
    theta = np.arctan2(u, -v)
    theta = np.abs((theta + math.pi / 5) % (2 * math.pi / 5) - math.pi / 5)
    r = np.hypot(u, v)
    inner_x = _STAR_OUTER * _STAR_INNER * math.cos(math.pi / 5)
    inner_y = _STAR_OUTER * _STAR_INNER * math.sin(math.pi / 5)
    normal_x, normal_y = inner_y, _STAR_OUTER - inner_x
    length = math.hypot(normal_x, normal_y)
    return ((_STAR_OUTER - r * np.cos(theta)) * normal_x - r * np.sin(theta) * normal_y) / length


def _rgb(actor: Actor) -> np.ndarray:
    hue = (COLOURS.index(actor.colour) * 60 + actor.hue_shift) / 360 % 1.0
    return np.array(colorsys.hsv_to_rgb(hue, actor.saturation, actor.value), dtype=np.float32) * 255
