"""What may follow the words on a command line, in the words of the protocol that kubectl has for its plugins.

One candidate a line, with a tab and its description; then a colon and a number: whether names of files are of use, too.
"""

import asyncio
import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobset.cli import failures, options, registry
from jobset.client import explaining, homes, kinds, objects
from jobset.client.jobsets import Jobsets
from jobset.kube import requests

PATIENCE_SECONDS: Final = 2
"""Longer than that nobody waits for a completion."""


class Files(enum.IntEnum):
    """The directive at the end."""

    OFFERED = 0
    USELESS = 4


@dataclass(frozen=True)
class Offer:
    """The candidates, with their descriptions."""

    candidates: Mapping[str, str]
    files: Files = Files.USELESS

    def lines(self, incomplete: str) -> list[str]:
        """What the shell's script reads."""
        fitting = [(name, text) for name, text in self.candidates.items() if name.startswith(incomplete)]
        return [*(f'{name}\t{text}' if text else name for name, text in fitting), f':{int(self.files)}']


FILES: Final = Offer({}, Files.OFFERED)
NOTHING: Final = Offer({})


def complete(words: Sequence[str]) -> list[str]:
    """The answer for the words after ``jobset``; the last one is incomplete, perhaps empty."""
    *before, incomplete = words or ['']
    return _offer(before, incomplete).lines(incomplete)


def _offer(before: Sequence[str], incomplete: str) -> Offer:
    command: Any = registry.group()
    path: list[str] = []
    rest = list(before)
    while hasattr(command, 'list_commands'):
        if not rest:
            names = registry.COMMANDS if not path else _children(command)
            return _flags(command) if incomplete.startswith('-') else Offer(names)
        path.append(rest.pop(0))
        command = registry.command(path[0]) if len(path) == 1 else command.commands.get(path[-1])
        if command is None:
            return NOTHING
    return _of_command(command, path[0], rest, incomplete)


def _children(command: Any) -> dict[str, str]:  # noqa: ANN401 - a click command, whose class typer keeps to itself
    return {name: child.get_short_help_str() for name, child in command.commands.items()}


def _of_command(command: Any, name: str, words: Sequence[str], incomplete: str) -> Offer:  # noqa: ANN401 - as above
    flags = {flag: one for one in command.params for flag in (*one.opts, *one.secondary_opts) if flag.startswith('-')}
    if words and (last := flags.get(words[-1])) is not None and _takes_value(last):
        return _value(name, last.name, words, flags)
    if incomplete.startswith('-'):
        return _flags(command)
    arguments = _arguments(words, flags)
    return _argument(name, arguments, words, flags)


def _flags(command: Any) -> Offer:  # noqa: ANN401 - as above
    return Offer({flag: one.help or '' for one in command.params for flag in one.opts if flag.startswith('--')})


def _takes_value(option: Any) -> bool:  # noqa: ANN401 - as above
    return not (option.is_flag or option.count)


def _arguments(words: Sequence[str], flags: Mapping[str, Any]) -> list[str]:
    """The words that are neither flags nor their values."""
    found: list[str] = []
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith('-') and word != '-':
            option = flags.get(word)
            is_value = option is not None and _takes_value(option)
        else:
            found.append(word)
    return found


def _option(words: Sequence[str], flags: Mapping[str, Any], name: str) -> str | None:
    """The value that was given to an option."""
    for place, word in enumerate(words):
        flag, equals, value = word.partition('=')
        option = flags.get(flag)
        if option is not None and option.name == name:
            return value if equals else next(iter(words[place + 1 :]), None)
    return None


_FORMS: Final = {
    'get': ('table', 'wide', 'json', 'yaml', 'name'),
    'delete': ('name',),
    'events': ('table', 'json', 'yaml', 'name'),
    'tree': ('table', 'json', 'yaml', 'name'),
    'apply': ('table', 'json', 'yaml', 'name'),
    'status': ('table', 'json', 'yaml'),
    'validate': ('text', 'json'),
}


def _value(command: str, option: str, words: Sequence[str], flags: Mapping[str, Any]) -> Offer:  # noqa: PLR0911 - one for each option
    match option:
        case 'form':
            return Offer(
                dict.fromkeys(_FORMS.get(command, ()), ''), Files.OFFERED if command == 'timeline' else Files.USELESS
            )
        case 'cascade':
            return Offer(dict.fromkeys(('background', 'foreground', 'orphan'), ''))
        case 'cluster':
            return Offer(dict.fromkeys(homes.clusters(), ''))
        case 'kubeconfig' | 'files':
            return FILES
        case 'namespace':
            return _asked(_target(words, flags), lambda jobsets: _names(jobsets, requests.NAMESPACES))
        case 'groups':
            name = next(iter(_arguments(words, flags)), '')
            return _asked(_target(words, flags), lambda jobsets: _replicated_jobs(jobsets, name))
        case _:
            return NOTHING


_OF_JOBSET: Final = frozenset({'tree', 'status', 'logs', 'events', 'timeline'})


def _argument(command: str, arguments: Sequence[str], words: Sequence[str], flags: Mapping[str, Any]) -> Offer:  # noqa: PLR0911 - one for each command
    target = _target(words, flags)
    match command:
        case 'validate' | 'run' | 'apply':
            return FILES
        case 'explain':
            return _fields()
        case 'completion':
            return Offer(dict.fromkeys(('bash', 'zsh', 'fish'), ''))
        case 'get' | 'delete' if not arguments:
            return _asked(target, _kinds)
        case 'get' | 'delete':
            return _asked(target, lambda jobsets: _of_kind(jobsets, arguments[0]))
        case _ if command in _OF_JOBSET and not arguments:
            return _asked(target, lambda jobsets: _of_kind(jobsets, 'jobsets'))
        case _:
            return NOTHING


def _fields() -> Offer:
    """All paths above the templates, whose fields are a thousand."""
    found: dict[str, str] = {}

    def walk(path: str, depth: int) -> None:
        found[path] = ''
        if depth:
            for name in explaining.fields(path):
                walk(f'{path}.{name}', depth - 1)

    walk('jobset', 4)
    return Offer(found)


def _target(words: Sequence[str], flags: Mapping[str, Any]) -> options.Target:
    return options.Target(
        namespace=_option(words, flags, 'namespace'),
        context=_option(words, flags, 'context'),
        kubeconfig=_option(words, flags, 'kubeconfig'),
        cluster=_option(words, flags, 'cluster'),
    )


def _asked(target: options.Target, ask: Callable[[Jobsets], Awaitable[Sequence[str]]]) -> Offer:
    """What the cluster answers; nothing when it does not, or not in time: a completion must not complain.

    Who wonders why has it told, see :data:`jobset.cli.failures.DEBUGGING`.
    """

    async def wait() -> Sequence[str]:
        async with asyncio.timeout(PATIENCE_SECONDS), target.connect() as jobsets:
            return await ask(jobsets)

    try:
        return Offer(dict.fromkeys(asyncio.run(wait()), ''))
    except Exception as error:
        failures.explain(error)
        return NOTHING


async def _kinds(jobsets: Jobsets) -> Sequence[str]:
    return [kind.resource.plural for kind in await kinds.all_(jobsets.source) if 'list' in kind.verbs]


async def _of_kind(jobsets: Jobsets, word: str) -> Sequence[str]:
    kind = kinds.find(await kinds.all_(jobsets.source), word)
    return await _names(jobsets, kind.resource)


async def _names(jobsets: Jobsets, resource: requests.Resource) -> Sequence[str]:
    namespace = jobsets.namespace if resource.namespaced else None
    table = await objects.table(jobsets.source, resource, objects.Selection(namespace))
    return [row.object.metadata.name for row in table.rows or ()]


async def _replicated_jobs(jobsets: Jobsets, name: str) -> Sequence[str]:
    return [group.name for group in (await jobsets.get(name)).spec.replicated_jobs]
