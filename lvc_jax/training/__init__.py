"""Matching, losses, train state and checkpoints."""
