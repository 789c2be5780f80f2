"""What `score` does with its files: read them, score them by one metric, print, write and draw the result."""
