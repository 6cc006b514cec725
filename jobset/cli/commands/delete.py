"""``jobset delete KIND NAME…`` and ``jobset delete -f FILE``."""

import asyncio
from typing import Annotated

import typer

from jobset.cli import failures, options, output, spans
from jobset.client import kinds, manifests, objects, together
from jobset.client.jobsets import Jobsets
from jobset.kube import errors, requests


@options.on_cluster
async def command(
    target: options.Target,
    *,
    what: Annotated[list[str] | None, typer.Argument(help='A kind and names.', metavar='[KIND NAME...]')] = None,
    files: Annotated[
        list[str] | None, typer.Option('--filename', '-f', help='The objects of a file.', metavar='FILE')
    ] = None,
    recursive: Annotated[bool, typer.Option('--recursive', '-R', help='Look into folders below folders.')] = False,
    cascade: Annotated[
        str, typer.Option('--cascade', help='What becomes of dependants: background, foreground or orphan.')
    ] = 'background',
    wait: Annotated[bool, typer.Option('--wait/--no-wait', help='Wait until they are gone.')] = True,
    timeout: Annotated[str, typer.Option('--timeout', help='Wait so long at most, as 90s.', show_default=False)] = '',  # noqa: ASYNC109 - the message says more
    ignore_not_found: Annotated[bool, typer.Option('--ignore-not-found', help='What is gone already is fine.')] = False,
    form: options.Output = 'table',
) -> int:
    """Delete objects, by kind and name or as files name them, and wait until they are gone."""
    options.one_of(form, 'table', 'name')
    options.one_of(cascade, 'background', 'foreground', 'orphan')
    propagation = requests.Propagation(cascade.capitalize())
    if bool(what) == bool(files):
        raise failures.Failure('name either a kind and names, or files with -f', code=failures.USAGE)
    async with target.connect() as jobsets:
        found = await _by_file(jobsets, target, files, recursive) if files else await _by_name(jobsets, what or [])
        begun = []
        for resource, namespace, name in found:
            try:
                uid = await objects.delete(jobsets.source, resource, namespace, name, propagation=propagation)
            except errors.NotFound:
                if ignore_not_found:
                    continue
                raise
            output.write(f'{_full(resource)}/{name}' if form == 'name' else f'{_full(resource)} "{name}" deleted')
            begun.append((resource, namespace, name, uid))
        if wait:
            await _wait(jobsets, begun, spans.seconds('--timeout', timeout) if timeout else None)
    return 0


Found = tuple[requests.Resource, str | None, str]


async def _wait(
    jobsets: Jobsets,
    begun: list[tuple[requests.Resource, str | None, str, str]],
    seconds: float | None,
) -> None:
    try:
        async with asyncio.timeout(seconds):
            await together.all_of(objects.gone(jobsets.source, *one) for one in begun)
    except TimeoutError:
        raise failures.Failure(f'not everything was gone within {seconds:g} s') from None


async def _by_name(jobsets: Jobsets, what: list[str]) -> list[Found]:
    try:
        parsed = objects.parse_names(what)
    except ValueError as error:
        raise failures.Failure(str(error), code=failures.USAGE) from error
    pairs = parsed if isinstance(parsed, list) else [(parsed[0], name) for name in parsed[1]]
    if not pairs:
        raise failures.Failure(f'{what[0]}: name what to delete', code=failures.USAGE)
    known = await kinds.all_(jobsets.source)
    try:
        found = [(kinds.find(known, word).resource, name) for word, name in pairs]
    except kinds.UnknownKind as error:
        raise failures.Failure(str(error)) from error
    return [(resource, jobsets.namespace if resource.namespaced else None, name) for resource, name in found]


async def _by_file(jobsets: Jobsets, target: options.Target, files: list[str], recursive: bool) -> list[Found]:
    contents = manifests.read_all(files, recursive=recursive)
    if contents.problems:
        raise failures.Failure('; '.join(map(str, contents.problems)))
    found: list[Found] = []
    for document in contents.documents:
        try:
            resource = await kinds.of_object(jobsets.source, document.api_version, document.kind)
        except kinds.UnknownKind as error:
            raise failures.Failure(f'{document.file}:{document.line}: {error}') from error
        own = document.obj['metadata'].get('namespace') if isinstance(document.obj.get('metadata'), dict) else None
        namespace = str(own or target.namespace or jobsets.namespace) if resource.namespaced else None
        found.append((resource, namespace, document.name))
    return found


def _full(resource: requests.Resource) -> str:
    return f'{resource.kind.lower()}.{resource.group}' if resource.group else resource.kind.lower()
