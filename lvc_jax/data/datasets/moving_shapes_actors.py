"""How one coloured shape moves: a small kinematic model, and a random actor for each action."""

import dataclasses
import math

import numpy as np

from lvc_jax.data.datasets.moving_shapes_grammar import COLLIDE

WIDTH, HEIGHT = 128, 96  # pixels
EXTENT = 1.6  # a shape of radius r (that of the circle of equal area) stays within EXTENT * r of its centre
BLINK_S = 0.4
_BOUNCE_S = 0.8
_RADIUS = (8.0, 11.0)


@dataclasses.dataclass(frozen=True)
class Actor:
    """One shape that is in the picture from `start` to `end` seconds; lengths in pixels, angles in radians."""

    colour: str
    shape: str
    start: float
    end: float
    x: float
    y: float
    radius: float
    angle: float
    hue_shift: float = 0.0  # degrees
    saturation: float = 1.0
    value: float = 1.0
    velocity: tuple[float, float] = (0.0, 0.0)
    growth: float = 0.0  # pixels of radius a second
    turn: float = 0.0  # radians a second
    blinks: bool = False
    bounce: float = 0.0  # signed depth of a to and fro in x with a period of 0.8 s

    def pose(self, time: float) -> tuple[float, float, float, float] | None:
        """(x, y, radius, angle) at a time in seconds, None while the shape is not to be seen."""
        age = time - self.start
        if age < -1e-6 or time > self.end - 1e-6:
            return None
        if self.blinks and (age + 1e-6) % BLINK_S >= BLINK_S / 2:
            return None
        x = self.x + self.velocity[0] * age + self.bounce * abs((age / _BOUNCE_S) % 1.0 * 2 - 1)
        return x, self.y + self.velocity[1] * age, self.radius + self.growth * age, self.angle + self.turn * age


def clash(first: Actor, second: Actor) -> bool:
    """True if the two come near each other while both are in the picture."""
    start, end = max(first.start, second.start), min(first.end, second.end)
    for time in np.arange(start, end, 0.2):
        a = dataclasses.replace(first, blinks=False).pose(time)
        b = dataclasses.replace(second, blinks=False).pose(time)
        if a and b and math.hypot(a[0] - b[0], a[1] - b[1]) < EXTENT * (a[2] + b[2]):
            return True
    return False


def make_actor(rng: np.random.Generator, action: str, colour: str, shape: str, start: float, end: float) -> Actor:
    """A random actor that does `action` ("rest" for nothing) and stays in the picture (but for "enter", "leave")."""
    radius = rng.uniform(*_RADIUS)
    seconds = end - start
    margin = EXTENT * radius + 1
    velocity, growth, turn = (0.0, 0.0), 0.0, 0.0
    x, y = rng.uniform(margin, WIDTH - margin), rng.uniform(margin, HEIGHT - margin)
    if action in ("left", "right"):
        path = seconds * _speed(rng, seconds, WIDTH - 2 * margin)
        x = rng.uniform(margin, WIDTH - margin - path)
        velocity = (path / seconds, 0.0)
        if action == "left":
            x, velocity = WIDTH - x, (-path / seconds, 0.0)
    elif action in ("up", "down"):
        path = seconds * _speed(rng, seconds, HEIGHT - 2 * margin)
        y = rng.uniform(margin, HEIGHT - margin - path)
        velocity = (0.0, path / seconds)
        if action == "up":
            y, velocity = HEIGHT - y, (0.0, -path / seconds)
    elif action in ("enter", "leave"):
        x, y, velocity = _crossing(rng, action, radius, seconds)
    elif action in ("grow", "shrink"):
        small, large = rng.uniform(6.0, 7.0), rng.uniform(12.0, 13.5)
        radius, growth = (small, (large - small) / seconds) if action == "grow" else (large, (small - large) / seconds)
        margin = EXTENT * large + 1
        x, y = rng.uniform(margin, WIDTH - margin), rng.uniform(margin, HEIGHT - margin)
    elif action == "spin":
        turn = math.radians(rng.uniform(70, 110)) * rng.choice((-1, 1))
    angle = rng.uniform(-0.2, 0.2) if action != "spin" else rng.uniform(0, 2 * math.pi)
    actor = Actor(colour, shape, start, end, x, y, radius, angle, velocity=velocity, growth=growth, turn=turn)
    return _tint(rng, dataclasses.replace(actor, blinks=action == "blink"))


def make_pair(
    rng: np.random.Generator, things: tuple[tuple[str, str], tuple[str, str]], start: float, end: float
) -> tuple[Actor, Actor]:
    """Two shapes side by side that run into each other and bounce back, again and again."""
    radius_a, radius_b = rng.uniform(*_RADIUS, size=2) * 0.9
    depth = rng.uniform(8.0, 11.0)
    touch = 0.95 * (radius_a + radius_b)
    reach = EXTENT * max(radius_a, radius_b) + depth + touch / 2 + 2
    x, y = rng.uniform(reach, WIDTH - reach), rng.uniform(20, HEIGHT - 20)
    order = things if rng.random() < 0.5 else things[::-1]
    left = Actor(*order[0], start, end, x - touch / 2, y, radius_a, rng.uniform(-0.2, 0.2), bounce=-depth)
    right = Actor(*order[1], start, end, x + touch / 2, y, radius_b, rng.uniform(-0.2, 0.2), bounce=depth)
    return _tint(rng, left), _tint(rng, right)


def make_actors(
    rng: np.random.Generator, action: str, things: tuple[tuple[str, str], ...], start: float, end: float
) -> tuple[Actor, ...]:
    """The actors of one event: two for "collide", else one."""
    if action == COLLIDE:
        return make_pair(rng, (things[0], things[1]), start, end)
    return (make_actor(rng, action, *things[0], start, end),)


def _speed(rng: np.random.Generator, seconds: float, room: float) -> float:
    fastest = min(16.0, room / seconds)
    return rng.uniform(0.6 * fastest, fastest)


def _crossing(
    rng: np.random.Generator, action: str, radius: float, seconds: float
) -> tuple[float, float, tuple[float, float]]:
    """Down and inwards from the left or right border ("enter"), or up and outwards through it ("leave")."""
    border = 0.4 * radius  # the centre is inside by this much when the event begins or ends at the border
    speed = rng.uniform(10.0, 14.0)
    drop = min(rng.uniform(0.5, 0.7) * speed, (HEIGHT - 2 * EXTENT * radius - 4) / seconds)
    high = rng.uniform(EXTENT * radius + 1, HEIGHT - EXTENT * radius - 1 - drop * seconds)
    x, y, velocity = border, high, (speed, drop)
    if action == "leave":
        x, y, velocity = border + speed * seconds, high + drop * seconds, (-speed, -drop)
    if rng.random() < 0.5:
        x, velocity = WIDTH - x, (-velocity[0], velocity[1])
    return x, y, velocity


def _tint(rng: np.random.Generator, actor: Actor) -> Actor:
    return dataclasses.replace(
        actor, hue_shift=rng.uniform(-8, 8), saturation=rng.uniform(0.75, 1.0), value=rng.uniform(0.75, 1.0)
    )
