"""Prediction files, subtitles, plots and reports."""
