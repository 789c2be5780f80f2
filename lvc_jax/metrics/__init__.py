"""Scores; strings and arrays in, numbers with a signature out."""
