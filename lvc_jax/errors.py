"""The error that bad input raises."""


class InputError(ValueError):
    """Bad input or usage: a missing or corrupt file, a wrong shape, an impossible value.

    The message is one line that says what is wrong, where, and how to mend it. Commands print it and exit with 2.
    """

    def __init__(self, message: str):
        super().__init__(" ".join(message.split()))
