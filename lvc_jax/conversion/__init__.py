"""Checkpoints of other programs to checkpoints of this one, and back; nothing here imports torch."""
