"""An LSTM without biases, gates in the order input, forget, cell, output."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Residuals = tuple[Array, Array, Array, Array]


def lstm_step(gates: Float[Array, "... 4r"], cell: Float[Array, "... r"]) -> tuple[Array, Array]:
    """One step from gate pre-activations (input and recurrent parts added) and the cell; returns (hidden, cell)."""
    in_gate, forget_gate, update, out_gate = jnp.split(gates, 4, axis=-1)
    cell = jax.nn.sigmoid(forget_gate) * cell + jax.nn.sigmoid(in_gate) * jnp.tanh(update)
    return jax.nn.sigmoid(out_gate) * jnp.tanh(cell), cell


def matmul(rows: Array, kernel: Array) -> Array:
    """rows @ kernel in the dtype of the kernel, with sums and result in float32."""
    return jnp.matmul(rows.astype(kernel.dtype), kernel, preferred_element_type=jnp.float32)


@jax.custom_vjp
def lstm(inputs: Float[Array, "w n 4r"], recurrent: Float[Array, "r 4r"]) -> Float[Array, "w n r"]:
    """Hidden states of a whole sequence from a zero state.

    `inputs` are the projected inputs of every step, float32. The backward pass makes the gradient of `recurrent` with
    one product after its scan, instead of adding up a matrix at every step.
    """
    return _forward(inputs, recurrent)[0]


def _forward(inputs: Array, recurrent: Array) -> tuple[Array, Residuals]:
    zero = jnp.zeros((inputs.shape[1], recurrent.shape[0]), jnp.float32)

    def step(state: tuple[Array, Array], gates_in: Array) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
        hidden, cell = state
        gates = gates_in + matmul(hidden, recurrent)
        hidden, cell = lstm_step(gates, cell)
        return (hidden, cell), (hidden, cell, gates)

    _, (hidden, cells, gates) = jax.lax.scan(step, (zero, zero), inputs)
    return hidden, (hidden, cells, gates, recurrent)


def _backward(residuals: Residuals, gradient: Array) -> tuple[Array, Array]:
    hidden, cells, gates, recurrent = residuals
    transposed = recurrent.T
    before = jnp.concatenate([jnp.zeros_like(cells[:1]), cells[:-1]])

    def step(carry: tuple[Array, Array], inputs: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        d_hidden, d_cell = carry
        d_out, gates, cell_before = inputs
        _, pullback = jax.vjp(lstm_step, gates, cell_before)
        d_gates, d_cell = pullback((d_hidden + d_out, d_cell))
        return (matmul(d_gates, transposed), d_cell), d_gates

    zero = jnp.zeros_like(cells[0])
    _, d_gates = jax.lax.scan(step, (zero, zero), (gradient, gates, before), reverse=True)
    d_recurrent = jnp.einsum("wnr,wng->rg", hidden[:-1], d_gates[1:])
    return d_gates, d_recurrent.astype(recurrent.dtype)


lstm.defvjp(_forward, _backward)
