"""The script of one moving_shapes video: when what happens, drawn from a seed.

Events begin and end on a beat of 0.4 s and last 2 to 5.6 s. Most are in full view from their first frame. Stretches
without an event show the empty background or a resting shape: a shape at rest is no event. Things in the picture at
the same time differ in colour and keep apart, unless they collide.
"""

import dataclasses

import numpy as np

from lvc_jax.data.datasets import moving_shapes_grammar as grammar
from lvc_jax.data.datasets.moving_shapes_actors import Actor, clash, make_actors

BEAT_S = 0.4
SPLITS = ("train", "val", "test")
_REST = "rest"
_COLLIDE_SHARE = 0.09
_TRIES = 40
_EVENT_BEATS = (5, 14)
_GAP_BEATS = (5, 13)


@dataclasses.dataclass(frozen=True)
class SceneEvent:
    """An action from `start` to `end` seconds."""

    start: float
    end: float
    action: str
    things: tuple[grammar.Thing, ...]

    @property
    def sentences(self) -> tuple[str, str]:
        """Its sentence in the first and in the second reference set."""
        return grammar.sentences(self.action, self.things)


@dataclasses.dataclass(frozen=True)
class Scene:
    """A whole video before it is drawn. `seed` also decides background and noise."""

    video_id: str
    duration: float
    seed: tuple[int, ...]
    actors: tuple[Actor, ...]
    events: tuple[SceneEvent, ...]

    def annotation(self, file: str, fps: float) -> dict:
        """The entry of this video in the clips format: two reference sets, times in seconds."""
        times = [[event.start, event.end] for event in self.events]
        first, second = zip(*(event.sentences for event in self.events))
        return {
            "file": file,
            "duration": self.duration,
            "fps": fps,
            "timestamps": times,
            "sentences": list(first),
            "timestamps_2": [list(span) for span in times],
            "sentences_2": list(second),
            "source": "synthetic",
        }


def make_scene(seed: int, split: str, index: int) -> Scene:
    """The scene of video `index` of a split: a function of these three alone. It has at least one event."""
    path = (seed, SPLITS.index(split), index)
    rng = np.random.default_rng(path)
    beats = int(rng.triangular(13, 55, 150))  # 5.2 to 60 s
    script = _Script(rng, beats)
    beat = int(rng.integers(0, 5)) if rng.random() < 0.5 else 0
    while beat + _EVENT_BEATS[0] <= beats:
        for _ in range(int(rng.integers(1, 4))):
            beat = script.busy(beat)
            if beat + _EVENT_BEATS[0] > beats:
                break
        beat = script.gap(beat)
    events = tuple(sorted(script.events, key=lambda event: (event.start, event.end)))
    return Scene(f"shapes_{split}_{index:05d}", _seconds(beats), path, tuple(script.actors), events)


class _Script:
    """Collects the actors and events of one scene."""

    def __init__(self, rng: np.random.Generator, beats: int):
        self.rng, self.beats = rng, beats
        self.actors: list[Actor] = []
        self.events: list[SceneEvent] = []

    def busy(self, beat: int) -> int:
        """One event from `beat` on, often with one or two more that overlap it; returns the beat at which all ended."""
        count = int(self.rng.choice((1, 2, 3), p=(0.6, 0.28, 0.12)))
        end = self._event(beat)
        for _ in range(count - 1):
            start = beat + int(self.rng.integers(0, 5))
            if start + _EVENT_BEATS[0] <= self.beats:
                end = max(end, self._event(start))
        return end

    def gap(self, beat: int) -> int:
        """No event for a while; returns the beat at which it ends."""
        end = min(beat + int(self.rng.integers(_GAP_BEATS[0], _GAP_BEATS[1] + 1)), self.beats)
        if end - beat >= 2 and self.rng.random() < 0.4:
            self._place(_REST, beat, end)
        return end

    def _event(self, beat: int) -> int:
        action = grammar.COLLIDE
        if self.rng.random() >= _COLLIDE_SHARE:
            action = str(self.rng.choice(grammar.SINGLE_ACTIONS))
        end = min(beat + int(self.rng.integers(_EVENT_BEATS[0], _EVENT_BEATS[1] + 1)), self.beats)
        things = self._place(action, beat, end)
        if not things:
            return beat
        self.events.append(SceneEvent(_seconds(beat), _seconds(end), action, things))
        return end

    def _place(self, action: str, first: int, last: int) -> tuple[grammar.Thing, ...]:
        """Adds the actors of an action where there is room; () if there is none."""
        start, end = _seconds(first), _seconds(last)
        there = [actor for actor in self.actors if actor.start < end and start < actor.end]
        colours = [colour for colour in grammar.COLOURS if colour not in {actor.colour for actor in there}]
        shapes = [shape for shape in grammar.SHAPES if grammar.allowed(action, shape)]
        number = 2 if action == grammar.COLLIDE else 1
        if len(colours) < number:
            return ()
        for _ in range(_TRIES):
            chosen = self.rng.choice(colours, size=number, replace=False)
            things = tuple((str(colour), str(self.rng.choice(shapes))) for colour in chosen)
            actors = make_actors(self.rng, action, things, start, end)
            if not any(clash(new, old) for new in actors for old in there):
                self.actors.extend(actors)
                return things
        return ()


def _seconds(beat: int) -> float:
    return round(beat * BEAT_S, 6)
