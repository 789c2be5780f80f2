"""What another library's error says, cut to one line."""

_LONGEST = 300


def first_line(error: Exception) -> str:
    """The first line of an error's message, at most 300 characters; its kind if it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0][:_LONGEST] if lines else type(error).__name__
