"""R(2+1)D-18 and -34: a video clip to 512 features by residual blocks of 1x3x3 and 3x1x1 convolutions.

Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition" (CVPR 2018). Depth 18 is the network
of torchvision, depth 34 that of TSP (Alwassel et al., 2021), whose second convolution of a block that narrows the clip
has a middle width of its own. Inference only: batch norm uses the stored statistics. The classifier is left out.
"""

import dataclasses

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from lvc_jax.errors import InputError

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
_WIDTH = 64
_STEM_MIDDLE = 45
_DTYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class R2Plus1DConfig:
    """What makes the network.

    Attributes:
        depth: 18 or 34.
        batch_norm_eps: added to the variance; 1e-5 in torchvision, 1e-3 in TSP.
        dtype: of the computation, "float32" or "bfloat16"; the variables are float32.
        width: channels of the stem and the first stage, doubled by every later one. Other than 64 only for tests.

    Raises:
        InputError: one of them has another value.
    """

    depth: int
    batch_norm_eps: float = 1e-5
    dtype: str = "float32"
    width: int = _WIDTH

    def __post_init__(self) -> None:
        if self.depth not in BLOCKS:
            raise InputError(f"R(2+1)D: depth {self.depth!r}: unknown; choose one of {', '.join(map(str, BLOCKS))}")
        if self.dtype not in _DTYPES:
            raise InputError(f"R(2+1)D: dtype {self.dtype!r}: unknown; choose one of {', '.join(_DTYPES)}")
        if not 0 < self.batch_norm_eps < 1:
            raise InputError(f"R(2+1)D: batch_norm_eps {self.batch_norm_eps!r}: must lie between 0 and 1")
        if self.width < 2:
            raise InputError(f"R(2+1)D: width {self.width!r}: must be at least 2")

    @property
    def stem_middle(self) -> int:
        """Channels between the two convolutions of the stem."""
        return _STEM_MIDDLE * self.width // _WIDTH

    @property
    def dim(self) -> int:
        """Numbers of a feature."""
        return self.width * 8


@dataclasses.dataclass(frozen=True)
class BlockShape:
    """One residual block: its place, its channels and what it divides frames, rows and columns by."""

    stage: int
    index: int
    inputs: int
    outputs: int
    middles: tuple[int, int]
    stride: int

    @property
    def name(self) -> str:
        """Of the Flax module."""
        return f"layer{self.stage}_{self.index}"

    @property
    def projected(self) -> bool:
        """Whether the shortcut is a convolution."""
        return self.stride != 1 or self.inputs != self.outputs


def block_shapes(config: R2Plus1DConfig) -> tuple[BlockShape, ...]:
    """The residual blocks in their order."""
    shapes, inputs = [], config.width
    for stage, count in enumerate(BLOCKS[config.depth], start=1):
        outputs = config.width * 2 ** (stage - 1)
        for index in range(count):
            first = _middle(inputs, outputs)
            second = first if config.depth == 18 else _middle(outputs, outputs)
            stride = 2 if stage > 1 and index == 0 else 1
            shapes.append(BlockShape(stage, index, inputs, outputs, (first, second), stride))
            inputs = outputs
    return tuple(shapes)


def _middle(inputs: int, outputs: int) -> int:
    """The width that gives 1x3x3 and 3x1x1 together the parameters of 3x3x3."""
    return 27 * inputs * outputs // (9 * inputs + 3 * outputs)


class Norm(nn.Module):
    """Batch norm by its stored statistics: a scale and a shift for each channel, computed in float32."""

    eps: float

    @nn.compact
    def __call__(self, x: Float[Array, "*b c"]) -> Float[Array, "*b c"]:
        channels = x.shape[-1:]
        scale = self.param("scale", nn.initializers.ones, channels)
        bias = self.param("bias", nn.initializers.zeros, channels)
        mean = self.variable("batch_stats", "mean", jnp.zeros, channels)
        variance = self.variable("batch_stats", "var", jnp.ones, channels)
        factor = scale / jnp.sqrt(variance.value + self.eps)
        return x * factor.astype(x.dtype) + (bias - mean.value * factor).astype(x.dtype)


class FactoredConv(nn.Module):
    """A 1 x size x size convolution, norm, ReLU, a 3 x 1 x 1 convolution, norm.

    Attributes:
        middle: channels between the two.
        outputs: channels after them.
        strides: what the clip's frames, and its rows and columns are divided by.
        size: rows and columns of the spatial kernel.
    """

    middle: int
    outputs: int
    eps: float
    strides: tuple[int, int] = (1, 1)
    size: int = 3

    @nn.compact
    def __call__(self, x: Float[Array, "b t h w c"]) -> Float[Array, "b t2 h2 w2 c2"]:
        init = nn.initializers.he_normal()
        spatial = self.param("spatial", init, (self.size, self.size, x.shape[-1], self.middle))
        temporal = self.param("temporal", init, (3, self.middle, self.outputs))
        x = spatial_convolution(x, spatial.astype(x.dtype), self.strides[1])
        x = nn.relu(Norm(self.eps, name="spatial_norm")(x))
        x = temporal_convolution(x, temporal.astype(x.dtype), self.strides[0])
        return Norm(self.eps, name="temporal_norm")(x)


def spatial_convolution(
    x: Float[Array, "b t h w c"], kernel: Float[Array, "k k c m"], stride: int
) -> Float[Array, "b t h2 w2 m"]:
    """Every frame convolved for itself, with zeros around it."""
    frames = x.reshape(-1, *x.shape[2:])
    pad = kernel.shape[0] // 2
    frames = jax.lax.conv_general_dilated(
        frames, kernel, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return frames.reshape(*x.shape[:2], *frames.shape[1:])


def temporal_convolution(
    x: Float[Array, "b t h w m"], kernel: Float[Array, "3 m c"], stride: int
) -> Float[Array, "b t2 h w c"]:
    """Every pixel convolved along time, with a frame of zeros before and after the clip.

    As a convolution of the plane time x pixel: on CPUs that is faster than the convolution in three dimensions and than
    products with three shifted clips (docs/features.md).
    """
    batch, frames, height, width, _ = x.shape
    plane = jax.lax.conv_general_dilated(
        x.reshape(batch, frames, height * width, -1),
        kernel[:, None],
        (stride, 1),
        [(1, 1), (0, 0)],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return plane.reshape(batch, -1, height, width, kernel.shape[-1])


class Block(nn.Module):
    """Two factored convolutions and a shortcut."""

    shape: BlockShape
    eps: float

    @nn.compact
    def __call__(self, x: Float[Array, "b t h w c"]) -> Float[Array, "b t2 h2 w2 c2"]:
        shape, stride = self.shape, self.shape.stride
        y = nn.relu(FactoredConv(shape.middles[0], shape.outputs, self.eps, (stride, stride), name="conv1")(x))
        y = FactoredConv(shape.middles[1], shape.outputs, self.eps, name="conv2")(y)
        if shape.projected:
            kernel = self.param("shortcut", nn.initializers.he_normal(), (shape.inputs, shape.outputs))
            x = Norm(self.eps, name="shortcut_norm")(x[:, ::stride, ::stride, ::stride] @ kernel.astype(x.dtype))
        return nn.relu(x + y)


class R2Plus1D(nn.Module):
    """Clips to features. `init` gives {"params", "batch_stats"}; what `r2plus1d_names` makes of a state dict."""

    config: R2Plus1DConfig

    @nn.compact
    def __call__(self, clips: Float[Array, "b t h w 3"]) -> Float[Array, "b dim"]:
        """float32 features of normalised clips (TSP: 16 frames of 112 x 112)."""
        config, eps = self.config, self.config.batch_norm_eps
        x = clips.astype(config.dtype)
        x = nn.relu(FactoredConv(config.stem_middle, config.width, eps, (1, 2), 7, name="stem")(x))
        for shape in block_shapes(config):
            x = Block(shape, eps, name=shape.name)(x)
        return x.astype(jnp.float32).mean(axis=(1, 2, 3))
