"""What moving_shapes can say: colours, shapes, actions, and the two sentences of an event."""

COLOURS = ("red", "yellow", "green", "cyan", "blue", "purple")  # hues 0, 60, ... 300 degrees
SHAPES = ("circle", "square", "triangle", "cross", "star")
PHRASES = {
    "left": ("moves left", "slides to the left"),
    "right": ("moves right", "slides to the right"),
    "up": ("moves up", "climbs to the top"),
    "down": ("moves down", "sinks to the bottom"),
    "grow": ("grows", "is getting bigger"),
    "shrink": ("shrinks", "is getting smaller"),
    "spin": ("spins", "keeps turning around"),
    "blink": ("blinks", "flashes on and off"),
    "enter": ("enters", "comes into view"),
    "leave": ("leaves", "goes out of view"),
}
SINGLE_ACTIONS = tuple(PHRASES)
COLLIDE = "collide"
ACTIONS = (*SINGLE_ACTIONS, COLLIDE)

Thing = tuple[str, str]  # (colour, shape)


def allowed(action: str, shape: str) -> bool:
    """False for what cannot be seen: a circle that spins."""
    return not (action == "spin" and shape == "circle")


def sentences(action: str, things: tuple[Thing, ...]) -> tuple[str, str]:
    """The two reference sentences of an event, one for each reference set.

    Args:
        action: one of `ACTIONS`.
        things: one (colour, shape); two for "collide", named in the order of `COLOURS`.
    """
    if action == COLLIDE:
        (colour_a, shape_a), (colour_b, shape_b) = sorted(things, key=lambda thing: COLOURS.index(thing[0]))
        return (
            f"a {colour_a} {shape_a} and a {colour_b} {shape_b} collide.",
            f"the {colour_a} {shape_a} and the {colour_b} {shape_b} bump into each other.",
        )
    ((colour, shape),) = things
    first, second = PHRASES[action]
    return f"a {colour} {shape} {first}.", f"the {colour} {shape} {second}."
