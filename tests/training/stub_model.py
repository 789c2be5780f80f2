"""A tiny model with the captioner's interface, so that losses, steps and loops are tested in a second."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class StubCaptioner(nn.Module):
    """Two decoder layers of `queries` queries over the mean feature; a bigram caption head."""

    queries: int = 4
    width: int = 8
    vocab_size: int = 12
    max_events: int = 3
    dropout: float = 0.1
    caption_head: str = "lstm_dsa"

    @property
    def config(self):
        return self

    def setup(self):
        self.embed = nn.Dense(self.queries * self.width)
        self.heads = [nn.Dense(1 + 2 + self.max_events + 1) for _ in range(2)]
        self.words = nn.Embed(self.vocab_size + 1, self.width)
        self.logit = nn.Dense(self.vocab_size + 1)
        self.drop = nn.Dropout(self.dropout)

    def __call__(self, features, duration, *, deterministic=True):
        batch = features.shape[0]
        x = self.drop(features.mean(1) + 0.01 * duration[:, None], deterministic=deterministic)
        hidden = self.embed(x).reshape(batch, self.queries, self.width)
        outs = [head(hidden) for head in self.heads]
        boxes = jnp.stack([jax.nn.sigmoid(out[..., 1:3]) for out in outs])
        if self.is_initializing():
            self.token_log_probs(hidden, jnp.zeros((batch, self.queries, 4), int), None, None)
        return {
            "class_logits": jnp.stack([out[..., 0] for out in outs]),
            "boxes": boxes,
            "count_logits": jnp.stack([out[..., 3:].max(1) for out in outs]),
            "hidden": jnp.stack([hidden, hidden * 1.5]),
            "references": (boxes[0, ..., :1], boxes[0]),
            "memory": features,
        }

    def token_log_probs(self, hidden, tokens, reference, memory, *, deterministic=True):
        x = self.words(tokens[..., :-1]) + hidden[..., None, :]
        if memory is not None:  # every event sees the memory of its own sample
            x = x + 0.1 * memory.mean((1, 2))[:, None, None, None]
        log_probs = jax.nn.log_softmax(self.logit(self.drop(x, deterministic=deterministic)))
        return jnp.take_along_axis(log_probs, tokens[..., 1:, None], -1)[..., 0]
