"""``jobset get KIND [NAME…]``: objects of any kind, for machines without kubectl."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from jobset.cli import failures, options, output
from jobset.client import kinds, objects
from jobset.client.jobsets import Jobsets
from jobset.kube import requests


@options.on_cluster
async def command(
    target: options.Target,
    *,
    what: Annotated[
        list[str] | None, typer.Argument(help='A kind and names, or KIND/NAME.', metavar='KIND [NAME...]')
    ] = None,
    all_namespaces: Annotated[bool, typer.Option('--all-namespaces', '-A', help='Of all namespaces.')] = False,
    labels: Annotated[str | None, typer.Option('--selector', '-l', help='Only those with these labels.')] = None,
    fields: Annotated[str | None, typer.Option('--field-selector', help='Only those with these fields.')] = None,
    form: options.Output = 'table',
) -> int:
    """Show objects of a kind, as the server presents them: the JobSets of the namespace when no kind is named."""
    options.one_of(form, 'table', 'wide', 'json', 'yaml', 'name')
    async with target.connect() as jobsets:
        wanted = _wanted(what or ['jobsets'])
        known = await kinds.all_(jobsets.source)
        found = [(kind, name) for word, name in wanted for kind in _kinds(known, word)]
        chosen = _Filter(namespace=jobsets.namespace, all_namespaces=all_namespaces, labels=labels, fields=fields)
        if form in ('table', 'wide'):
            shown = await _tables(jobsets, found, chosen, wide=form == 'wide')
            if not shown:
                where = '' if all_namespaces else f' in {jobsets.namespace} namespace'
                output.warn(f'No resources found{where}.')
            return 0
        items: list[objects.Object] = []
        for kind, name in found:
            items += await objects.read(jobsets.source, kind.resource, chosen.of(kind, name))
    if form == 'name':
        for item in items:
            output.write(_name(item))
    else:
        output.write(output.document(_document(items, single=len(wanted) == 1 and bool(wanted[0][1])), form))
    return 0


def _wanted(what: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of kind and name; no name stands for all objects."""
    try:
        parsed = objects.parse_names(what)
    except ValueError as error:
        raise failures.Failure(str(error), code=failures.USAGE) from error
    if isinstance(parsed, list):
        return parsed
    words, names = parsed
    return [(word, name) for word in words.split(',') for name in names or ['']]


def _kinds(known: Sequence[kinds.Kind], word: str) -> list[kinds.Kind]:
    category = kinds.in_category(known, word)
    if category:
        return category
    try:
        return [kinds.find(known, word)]
    except kinds.UnknownKind as error:
        raise failures.Failure(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class _Filter:
    """Which objects of each kind."""

    namespace: str
    all_namespaces: bool
    labels: str | None
    fields: str | None

    def of(self, kind: kinds.Kind, name: str) -> objects.Selection:
        if self.all_namespaces and name:
            raise failures.Failure('an object cannot be named across all namespaces', code=failures.USAGE)
        everywhere = self.all_namespaces or not kind.resource.namespaced
        return objects.Selection(None if everywhere else self.namespace, name, self.labels, self.fields)


async def _tables(
    jobsets: Jobsets,
    found: Sequence[tuple[kinds.Kind, str]],
    chosen: _Filter,
    *,
    wide: bool,
) -> bool:
    """Prints a table for each kind that has objects; several names of one kind are rows of one table."""
    rows: dict[requests.Resource, list[objects.Table]] = {}
    shown = {kind.resource: kind for kind, _ in found}
    for kind, name in found:
        table = await objects.table(jobsets.source, kind.resource, chosen.of(kind, name))
        if table.rows:
            rows.setdefault(kind.resource, []).append(table)
    for place, (resource, tables) in enumerate(rows.items()):
        if place:
            output.write('')
        prefix = _full(shown[resource]) if len(shown) > 1 else ''
        with_namespace = chosen.all_namespaces and resource.namespaced
        for line in lines(tables, with_namespace=with_namespace, wide=wide, prefix=prefix):
            output.write(line)
    return bool(rows)


def lines(tables: Sequence[objects.Table], *, with_namespace: bool, wide: bool, prefix: str = '') -> list[str]:
    """The rows of tables of one kind under one header."""
    columns = tables[0].column_definitions or ()
    shown = [place for place, column in enumerate(columns) if wide or not column.priority]
    header = [columns[place].name.upper() for place in shown]
    body = [
        ([row.object.metadata.namespace] if with_namespace else [])
        + [_cell(row.cells[place], prefix if columns[place].name == 'Name' else '') for place in shown]
        for table in tables
        for row in table.rows or ()
    ]
    return output.table(['NAMESPACE', *header] if with_namespace else header, body)


def _cell(value: object, prefix: str) -> str:
    text = '' if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f'{prefix}/{text}' if prefix else text


def _full(kind: kinds.Kind) -> str:
    group = f'.{kind.resource.group}' if kind.resource.group else ''
    return f'{kind.singular or kind.resource.kind.lower()}{group}'


def _name(item: objects.Object) -> str:
    group = str(item.get('apiVersion', '')).rpartition('/')[0]
    kind = str(item.get('kind', '')).lower()
    return f'{kind}.{group}/{item["metadata"]["name"]}' if group else f'{kind}/{item["metadata"]["name"]}'


def _document(items: list[objects.Object], *, single: bool) -> dict[str, Any]:
    for item in items:
        # As kubectl does: nobody reads them.
        item['metadata'].pop('managedFields', None)
    if single:
        return items[0]
    return {'apiVersion': 'v1', 'kind': 'List', 'metadata': {'resourceVersion': ''}, 'items': items}
