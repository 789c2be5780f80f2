"""What every command shares: flags through absl, one-line errors, fixed exit codes."""

import os
import sys
from collections.abc import Callable, Sequence

from absl import app, flags, logging

from lvc_jax.errors import InputError

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_BAD_INPUT = 2
EXIT_PREEMPTED = 75
EXIT_INTERRUPTED = 130


def _parse(argv: Sequence[str], own: flags.FlagValues) -> list[str]:
    try:
        # First the few that absl itself defines (--verbosity, ...), then the command's.
        return list(own(flags.FLAGS(list(argv), known_only=True)))
    except AttributeError as error:
        # ml_collections, for a --config.KEY that the config file does not have, or a file without get_config.
        if "get_config" in str(error):
            raise InputError("--config: the file has no get_config(arg) function; see configs/") from None
        raise InputError(f"unknown key {error} in a --config.KEY flag; it must be a key of the config file") from None
    except Exception as error:
        # A config file is a program, run while flags are parsed: anything may come out of it, often with a traceback
        # in the message. Its first and last line say what went wrong.
        lines = [line.strip() for line in str(error).strip().splitlines()] or [""]
        name = "" if isinstance(error, flags.Error | OSError) else f"{type(error).__name__} in a config file: "
        raise InputError(f"{name}{' '.join(lines[:1] + lines[1:][-1:])}; see --help") from None


def _take(arguments: list[str], own: flags.FlagValues, positional: str | None) -> None:
    """Gives the arguments that are no flags to the flag that collects them."""
    if not arguments:
        return
    if positional is None:
        raise InputError(f"unexpected argument {arguments[0]!r}; every option is a --flag, see --help")
    flag = own[positional]
    if isinstance(flag, flags.MultiFlag):
        flag.value = [*(flag.value or []), *arguments]
    elif flag.present or len(arguments) > 1:
        raise InputError(f"unexpected argument {arguments[-1]!r}; --{positional} takes one value, see --help")
    else:
        flag.value = arguments[0]


def run(main: Callable[[], int | None], own: flags.FlagValues, *, positional: str | None = None) -> None:
    """Parses flags, calls `main` and exits: 0 done, 2 bad input, 75 preempted, 130 interrupted, 1 anything else.

    Args:
        main: the command; reads its flags; returns an exit code or None for 0.
        own: the command's flags. Each command keeps its own, so that several can be imported together although they
            share names such as --output.
        positional: name of the flag of `own` that takes the arguments that are no flags: any number of them for a
            `DEFINE_multi_string` flag, after those given by its name; one for a `DEFINE_string` flag. None: none.
    """

    def _main(argv: list[str]) -> int:
        if not flags.FLAGS["verbosity"].present:
            # absl would raise the default to INFO, and libraries would talk over the command's own output.
            logging.set_verbosity(logging.ERROR)
        try:
            _take(argv[1:], own, positional)
            _keep_compiled_programs()
            code = main() or EXIT_OK
            sys.stdout.flush()
            return code
        except InputError as error:
            return _report(error)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        except BrokenPipeError:
            # The reader of our output has gone (`| head`); what is still buffered would fail again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_ERROR

    def _flags_parser(argv: Sequence[str]) -> list[str]:
        try:
            return _parse(argv, own)
        except InputError as error:
            sys.exit(_report(error))

    if any(argument in ("--help", "-help", "-h", "--helpfull", "--helpshort") for argument in sys.argv[1:]):
        print(sys.modules["__main__"].__doc__ or "")
        print(own.get_help(include_special_flags=False))
        sys.exit(EXIT_OK)
    # absl's own parser prints a usage page for a bad flag; ours keeps the promise of one line.
    app.run(_main, flags_parser=_flags_parser)


def _keep_compiled_programs() -> None:
    """For commands that have loaded jax; the others shall not wait for it."""
    if "jax" in sys.modules:
        from lvc_jax import compilation

        compilation.keep_compiled_programs()


def _report(error: InputError) -> int:
    print(f"error: {error}", file=sys.stderr)
    return EXIT_BAD_INPUT
