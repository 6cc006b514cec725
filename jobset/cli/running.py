"""One call of the command line, from its words to its exit code."""

import sys
from collections.abc import Sequence

import typer

from jobset.cli import failures, registry


def run(args: Sequence[str], *, program: str) -> int:
    """The exit code of a command. Raises KeyboardInterrupt and BrokenPipeError, and nothing else."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            # A terminal that cannot show a line of a tree shall show a question mark.
            stream.reconfigure(errors='replace')
    try:
        group = registry.group()
        with group.make_context(program, list(args)) as context:
            code = group.invoke(context)
    except typer.Exit as ending:
        return ending.exit_code
    except typer.TyperException as error:
        return _complain(error.format_message(), program=program, error=error)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        return _fail(error)
    return code if isinstance(code, int) else 0


def _complain(text: str, *, program: str, error: typer.TyperException) -> int:
    """The words themselves cannot be understood."""
    context = getattr(error, 'ctx', None)
    where = context.command_path if context is not None else program
    end = '' if text.endswith('?') else ';'
    print(f'jobset: {text.rstrip(".")}{end} see "{where} --help"', file=sys.stderr)  # noqa: T201
    return error.exit_code


def _fail(error: Exception) -> int:
    if failures.wants_traceback():
        raise error
    text = failures.describe(error)
    if text is None:
        text = f'a fault of jobset itself: {type(error).__name__}: {error}; with JOBSET_TRACEBACK=1 it says more'
    line = ' '.join(text.split('\n')) if '\n' in text else text
    print(f'jobset: {line}', file=sys.stderr)  # noqa: T201
    return error.code if isinstance(error, failures.Failure) else failures.FAILED
