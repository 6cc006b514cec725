"""The same kubectl commands on two clusters, and what they said, made comparable."""

import itertools
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from e2e.kubectl import Kubectl


@dataclass(frozen=True)
class Step:
    """One command of a story."""

    arguments: tuple[str, ...]
    stdin: str | None = None
    shown: bool = True
    """Whether what it says is compared; its exit code always is."""

    subset: bool = False
    """Whether the embedded plane may say less: it has fewer kinds."""

    ordered: bool = True
    """Whether its lines come in the same order each time."""


@dataclass(frozen=True)
class Said:
    """What a command said, without what differs each time."""

    command: str
    code: int
    output: str
    errors: str


def step(
    line: str,
    *,
    stdin: str | None = None,
    shown: bool = True,
    subset: bool = False,
    ordered: bool = True,
) -> Step:
    """A step from a command line; words are parted by spaces, a word with spaces stands in single quotes."""
    words = [quoted or plain for quoted, plain in re.findall(r"'([^']*)'|(\S+)", line)]
    return Step(tuple(words), stdin, shown, subset, ordered)


def play(kubectl: Kubectl, namespace: str, steps: Sequence[Step]) -> list[Said]:
    """What kubectl says to each step."""
    said = []
    for each in steps:
        done: subprocess.CompletedProcess[str] = kubectl.run('-n', namespace, *each.arguments, stdin=each.stdin)
        output, errors = (plain(done.stdout), plain(done.stderr)) if each.shown else ('', '')
        if '-w' in each.arguments:
            # How often a state is told again, by changes that its row does not show, is a matter of chance.
            output = '\n'.join(line for line, _ in itertools.groupby(output.splitlines()))
        if not each.ordered:
            output = '\n'.join(sorted(output.splitlines()))
        said.append(Said(' '.join(each.arguments), done.returncode, output, errors))
    return said


_VARYING: Final = (
    (re.compile(r'\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b'), '<uid>'),
    (re.compile(r'\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z'), '<time>'),
    (re.compile(r'\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}'), '<time>'),
    (re.compile(r'(resourceVersion|Resource Version)([": =]+)\d+'), r'\1\2<version>'),
    (re.compile(r'^([IWE])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (?=\w+\.go:\d+\])', re.MULTILINE), r'\1 '),
    (re.compile(r'\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}'), '<time>'),
    (re.compile(r'\b\d+\.\d+\.\d+\.\d+(:\d+)?\b'), '<address>'),
    (re.compile(r'\b(node-0|local)(?=/<address>$|$)', re.MULTILINE), '<node>'),
    (re.compile(r'\b(containerd|local)://[0-9a-f]{64}\b'), '<container>'),
    (re.compile(r'(?<=Image ID:)( +)\S+'), r'\1<image>'),
    # Nothing is pulled and prepared where no images are run.
    (re.compile(r'^ +Normal +(Pulling|Pulled|Created) .*kubelet .*\n?', re.MULTILINE), ''),
    # A controller of the real server that looks over addresses now and then, and may see one that is being given out.
    (re.compile(r'^ +Warning +ClusterIPNotAllocated .*ipallocator-repair-controller .*\n?', re.MULTILINE), ''),
    (re.compile(r'<invalid>|\b(\d+d)?(\d+h)?(\d+m)?\d+m?s\b'), '<age>'),
    (re.compile(r'(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b'), '<random>'),
    (re.compile(r'/tmp/(LIVE|MERGED)-\d+'), r'/tmp/\1'),
)

_EVENTS: Final = '---- ------ ---- ---- -------'
"""Under the head of their table, which is the last part of a description."""


def plain(text: str) -> str:
    """Without identifiers, times, addresses, ages and the width of columns; Events of one second have no order."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    lines = [re.sub(r'[ \t]+', ' ', line).strip() for line in text.splitlines() if line.strip()]
    if _EVENTS in lines:
        begin = lines.index(_EVENTS) + 1
        lines[begin:] = sorted(lines[begin:])
        if begin == len(lines):
            lines[begin - 3 :] = ['Events: <none>']
    return '\n'.join(lines)
