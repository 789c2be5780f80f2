"""The whole model: features of a window in, events with captions out."""

import math
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.errors import InputError
from lvc_jax.models.caption_head import DERIVED, CaptionHead
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.heads import LayerHeads
from lvc_jax.models.layers import fan_in_uniform, inverse_sigmoid, layer_norm, xavier, zeros
from lvc_jax.models.positions import PositionCode, sine_proposals
from lvc_jax.models.pyramid import Pyramid
from lvc_jax.models.transformer import DecoderLayer, EncoderLayer

Outputs = dict[str, Any]
Variables = dict[str, Any]


class LiveCaptioner(nn.Module):
    """Temporal pyramid, encoder, decoder, three parallel heads (Live Video Captioning paper, section 3.2).

    Everything is a pure function of arrays; `apply` takes the variables {"params": ...} of `init_params`. Each example
    of a batch gets what it would get alone.
    """

    config: ModelConfig

    def setup(self) -> None:
        config = self.config
        size = config.hidden_dim
        self.pyramid = Pyramid(config)
        self.positions = PositionCode(config)
        self.level_embedding = self.param("level_embedding", nn.initializers.normal(1.0), (config.num_levels, size))
        self.encoder = [EncoderLayer(config) for _ in range(config.encoder_layers)]
        self.decoder = [DecoderLayer(config) for _ in range(config.decoder_layers)]
        # First half: the query's position; second half: its initial content.
        self.queries = self.param("queries", nn.initializers.normal(1.0), (config.num_queries, 2 * size))
        self.reference = nn.Dense(1, kernel_init=xavier, bias_init=zeros)
        self.proposal_layer = nn.Dense(2 * size, kernel_init=xavier, bias_init=fan_in_uniform(size), dtype=config.dtype)
        self.proposal_norm = layer_norm(config.dtype)
        self.heads = LayerHeads(config)
        self.caption = CaptionHead(config)

    def __call__(
        self,
        features: Float[Array, "b t c"],
        duration: Float[Array, " b"],
        *,
        proposals: Float[Array, "b g 2"] | None = None,
        proposal_mask: Bool[Array, "b g"] | None = None,
        deterministic: bool = True,
    ) -> Outputs:
        """Encodes a window and finds its events.

        Args:
            features: `config.num_frames` rows per window (see `resample_indices`).
            duration: length of each window in seconds.
            proposals: given events as (center, length) fractions of the window: they replace the learned queries, and
                boxes are returned as they came.
            proposal_mask: valid proposals; the others influence none.
            deterministic: False switches dropout on (rng collection "dropout").

        Returns:
            For D decoder layers and N queries (or proposals):
            class_logits [D, B, N]; boxes [D, B, N, 2], (center, length) in [0, 1]; count_logits [D, B, K + 1], or None
            without a counter; hidden [D, B, N, E]; references, a tuple of what each layer got: [B, N, 1] (centers) for
            the first layer and, with box refinement, [B, N, 2] for later ones; memory [B, S, E].

        Raises:
            InputError: features of another shape than the configuration says.
        """
        config = self.config
        if features.shape[1:] != (config.num_frames, config.feature_dim):
            raise InputError(
                f"features {features.shape}: the model takes [B, {config.num_frames}, {config.feature_dim}]: "
                "resample the rows, and check that the features come from the backbone of the checkpoint"
            )
        memory, memory_position = self.encode(features, duration, deterministic=deterministic)
        content, position, reference = self._queries(features.shape[0], proposals)
        collected: dict[str, list[Array]] = {"class_logits": [], "boxes": [], "hidden": [], "count_logits": []}
        references = []
        for layer, decode in enumerate(self.decoder):
            references.append(reference)
            content = decode(
                content, position, reference, memory, memory_position, proposal_mask, deterministic=deterministic
            )
            box = reference if proposals is not None else self._box(content, reference, layer)
            if proposals is None and config.box_refine:
                reference = jax.lax.stop_gradient(box)
            collected["hidden"].append(content)
            collected["boxes"].append(box)
            collected["class_logits"].append(self.heads.foreground(content, layer))
            if config.use_counter:
                collected["count_logits"].append(self.heads.count(content, layer, proposal_mask))
        outputs: Outputs = {name: jnp.stack(layers) if layers else None for name, layers in collected.items()}
        return {**outputs, "references": tuple(references), "memory": memory}

    def encode(
        self, features: Float[Array, "b t c"], duration: Float[Array, " b"], *, deterministic: bool = True
    ) -> tuple[Float[Array, "b s e"], Float[Array, "b s e"]]:
        """The memory (all levels, one after the other) and its positions, both in the compute dtype."""
        levels = self.pyramid(features)
        codes = self.positions(duration)
        position = jnp.concatenate(
            [code + embedding for code, embedding in zip(codes, self.level_embedding, strict=True)], axis=1
        ).astype(self.config.dtype)
        memory = jnp.concatenate(levels, axis=1)
        for layer in self.encoder:
            memory = layer(memory, position, deterministic=deterministic)
        return memory, position

    def token_log_probs(
        self,
        hidden: Float[Array, "b g e"],
        tokens: Int[Array, "b g w"],
        reference: Float[Array, "b g r"],
        memory: Float[Array, "b s e"],
        *,
        deterministic: bool = True,
    ) -> Float[Array, "b g w-1"]:
        """log p(tokens[t + 1] | tokens[: t + 1]): see `CaptionHead.token_log_probs`."""
        return self.caption.token_log_probs(hidden, tokens, reference, memory, deterministic=deterministic)

    def decode(
        self,
        hidden: Float[Array, "b n e"],
        reference: Float[Array, "b n r"],
        memory: Float[Array, "b s e"],
        active: Bool[Array, "b n"] | None = None,
        beam_size: int = 1,
    ) -> tuple[Int[Array, "b n w"], Float[Array, "b n w"]]:
        """Captions (tokens, log-probabilities): see `CaptionHead.decode`."""
        return self.caption.decode(hidden, reference, memory, active, beam_size)

    def derive_for_decoding(self) -> dict[str, Array]:
        """See `prepare`."""
        return self.caption.derive()

    def touch(self, features: Array, duration: Array) -> None:
        """Runs through every parameter once."""
        outputs = self(features, duration)
        self(features, duration, proposals=outputs["boxes"][-1])
        rows = outputs["hidden"][-1]
        tokens = jnp.zeros((*rows.shape[:2], 2), jnp.int32)
        self.token_log_probs(rows, tokens, outputs["references"][-1], outputs["memory"])

    def _box(self, content: Array, reference: Array, layer: int) -> Array:
        logits = inverse_sigmoid(reference)
        if reference.shape[-1] == 1:
            logits = jnp.concatenate([logits, jnp.zeros_like(logits)], axis=-1)
        return jax.nn.sigmoid(self.heads.box(content, layer) + logits)

    def _queries(self, batch: int, proposals: Array | None) -> tuple[Array, Array, Array]:
        """Content, position and reference that the decoder starts from."""
        if proposals is not None:
            boxes = jax.nn.sigmoid(inverse_sigmoid(proposals))
            code = sine_proposals(boxes, self.config.hidden_dim).astype(self.config.dtype)
            position, content = jnp.split(self.proposal_norm(self.proposal_layer(code)), 2, axis=-1)
            return content, position, proposals.astype(jnp.float32)
        position, content = jnp.split(self.queries, 2, axis=-1)
        reference = jax.nn.sigmoid(self.reference(position))

        def spread(rows: Array) -> Array:
            return jnp.broadcast_to(rows, (batch, *rows.shape))

        return spread(content.astype(self.config.dtype)), spread(position.astype(self.config.dtype)), spread(reference)


def init_params(config: ModelConfig, key: Array) -> Variables:
    """Initial variables {"params": ...} of every part, drawn as PyTorch and the PDVC reference draw them."""
    features = jnp.zeros((1, config.num_frames, config.feature_dim), jnp.float32)
    model = LiveCaptioner(config)

    def draw(key: Array) -> Variables:
        return {"params": model.init(key, features, jnp.ones(1), method="touch")["params"]}

    if isinstance(key, jax.core.Tracer):
        return draw(key)
    # Runs once: compiling this many small draws with optimisation takes far longer than it saves.
    return jax.jit(draw, compiler_options={"xla_backend_optimization_level": 0})(key)


@partial(jax.jit, static_argnums=0)
def _derived(config: ModelConfig, variables: Variables) -> Variables:
    return {"caption": LiveCaptioner(config).apply(variables, method="derive_for_decoding")}


def prepare(config: ModelConfig, variables: Variables) -> Variables:
    """Variables that caption faster: beside the parameters, what decoding derives from them alone.

    A table of every word's part of the LSTM's gates takes the place of one matrix product a word; it has 4 x rnn_dim
    numbers a word (47 MB with the ActivityNet vocabulary) and costs about as much as seven full steps, once. Captions
    are the same up to rounding. Variables that are prepared already come back as they are.
    """
    if DERIVED in variables:
        return variables
    return {**variables, DERIVED: _derived(config, variables)}


def parameter_count(variables: Variables) -> int:
    """Number of scalars in a tree of arrays or shapes."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(variables))
