"""Annotations, features and videos in; batches out."""
