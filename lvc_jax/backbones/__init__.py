"""Pixels to features."""
