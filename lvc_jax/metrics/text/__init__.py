"""Sentence scorers."""
