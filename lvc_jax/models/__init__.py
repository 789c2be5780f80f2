"""Pure Flax modules: arrays in, arrays out."""
