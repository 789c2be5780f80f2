"""Prepared datasets."""
