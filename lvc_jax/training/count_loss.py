"""How wrong the event counter is: the paper's cross-entropy, or the PDVC reference's weighted term."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

# Share of ActivityNet Captions training videos with k = 0, 1, 2, ... events (10,009 videos, none above 27).
_VIDEOS_WITH_K_EVENTS = np.array(
    [0, 0, 1936, 4125, 1891, 782, 510, 313, 185, 84, 66, 45, 22, 18, 6, 5, 5, 2, 3, 4, 3, 0, 2, 0, 0, 0, 1, 1]
)
_SIGMA = 2.0


def cross_entropy(logits: Float[Array, "B K"], count: Int[Array, " B"]) -> Float[Array, ""]:
    """Mean softmax cross-entropy with min(count, K - 1); Live Video Captioning paper, section 3.2."""
    target = jnp.minimum(count, logits.shape[-1] - 1)
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), target).mean()


def pdvc(logits: Float[Array, "B K"], count: Int[Array, " B"]) -> Float[Array, ""]:
    """The PDVC reference's counter term: one binary cross-entropy per class, mean over classes and batch.

    Class k weighs 1 - (its share of training videos); a wrong class weighs 1 - exp(-(k - target)^2 / 8) more, so
    that a near miss is cheap. Classes beyond the table (more than 27 events) have share 0.
    """
    classes = logits.shape[-1]
    k = jnp.arange(classes)
    target = jnp.minimum(count, classes - 1)[:, None]
    hit = (k == target).astype(jnp.float32)
    distance = (k - target).astype(jnp.float32)
    share = np.zeros(classes, np.float32)
    share[: len(_VIDEOS_WITH_K_EVENTS)] = (_VIDEOS_WITH_K_EVENTS / _VIDEOS_WITH_K_EVENTS.sum())[:classes]
    coefficient = hit + (1 - jnp.exp(-(distance**2) / (2 * _SIGMA**2))) * (1 - hit)
    term = optax.sigmoid_binary_cross_entropy(logits.astype(jnp.float32), hit)
    return jnp.mean((1 - share) * coefficient * term)


LOSSES = {"cross_entropy": cross_entropy, "pdvc": pdvc}


def count_loss(name: str, logits: Float[Array, "B K"], count: Int[Array, " B"]) -> jax.Array:
    """The counter term called `name` ("cross_entropy" or "pdvc")."""
    return LOSSES[name](logits, count)
