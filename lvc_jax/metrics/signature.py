"""One line that says how a score was made, after the manner of sacreBLEU: a number without one is not comparable."""

from lvc_jax.version import __version__


def signature(metric: str, **fields: object) -> str:
    """Joins a metric's name, its options and the version.

    Args:
        metric: the metric's name.
        **fields: options in print order.

    Returns:
        For example `livescore|mode:paper|clock:dt150|...|v:0.1.0`.
    """
    return "|".join([metric, *(f"{name}:{value}" for name, value in fields.items()), f"v:{__version__}"])
