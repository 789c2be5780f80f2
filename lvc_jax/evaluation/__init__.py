"""Runs a checkpoint over a split, beside its baselines, and scores all of them the same way."""
