"""``jobset validate FILE…``: what an API server would refuse, without one."""

import asyncio
from typing import Annotated, Final

import typer

from jobset.api import features
from jobset.cli import checking, failures, options, output
from jobset.client import garbage, manifests

INVALID: Final = 1
UNREADABLE: Final = 2


def command(
    files: Annotated[list[str], typer.Argument(help='Files, folders, or "-" for standard input.', metavar='FILE...')],
    *,
    recursive: Annotated[bool, typer.Option('--recursive', '-R', help='Look into folders below folders.')] = False,
    gates: Annotated[
        str, typer.Option('--feature-gates', help='As the controller has them: NAME=true,...', show_default=False)
    ] = '',
    form: Annotated[str, typer.Option('--output', '-o', help='The form: text or json.')] = 'text',
) -> int:
    """Check manifests without a cluster: what an API server would refuse, with file, line, column and field.

    The exit code is 0 when all is well, 1 when something is not, 2 when a file cannot be read at all.
    """
    options.one_of(form, 'text', 'json')
    with garbage.left_alone():
        contents = manifests.read_all(files, recursive=recursive)
        verdicts = asyncio.run(checking.check_all(contents.documents, gates=_gates(gates)))
    found = [*contents.problems, *(problem for verdict in verdicts for problem in verdict.problems)]
    if form == 'json':
        output.write(output.document(_report(verdicts, found), 'json'))
    else:
        for line in _lines(contents, verdicts):
            output.write(line)
    if any(problem.unreadable for problem in found):
        return UNREADABLE
    return INVALID if found else 0


def _gates(text: str) -> features.FeatureGates:
    wanted: dict[str, bool] = {}
    for entry in filter(None, text.split(',')):
        name, _, value = entry.partition('=')
        if value not in ('true', 'false'):
            raise failures.Failure(f'--feature-gates {entry}: write {name}=true or {name}=false', code=failures.USAGE)
        wanted[name] = value == 'true'
    try:
        return features.parse(wanted)
    except features.FeatureGateError as error:
        raise failures.Failure(str(error), code=failures.USAGE) from error


def _lines(contents: manifests.Contents, verdicts: list[checking.Verdict]) -> list[str]:
    lines = [str(problem) for problem in contents.problems]
    for verdict in verdicts:
        document = verdict.document
        lines += [str(problem) for problem in verdict.problems]
        if verdict.is_good:
            lines.append(f'{document.file}:{document.line}: {document.kind} {document.name}: {verdict.extent.value}')
    return lines


def _report(verdicts: list[checking.Verdict], found: list[manifests.Problem]) -> dict[str, object]:
    return {
        'valid': not found,
        'objects': [
            {
                'file': verdict.document.file,
                'line': verdict.document.line,
                'apiVersion': verdict.document.api_version,
                'kind': verdict.document.kind,
                'name': verdict.document.name,
                'valid': verdict.is_good,
                'checked': verdict.extent.name.lower(),
            }
            for verdict in verdicts
        ],
        'problems': [
            {
                'file': problem.file,
                'line': problem.position.line if problem.position else None,
                'column': problem.position.column if problem.position else None,
                'field': problem.field,
                'message': problem.text,
            }
            for problem in found
        ],
    }
