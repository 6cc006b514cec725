"""``jobset apply -f FILE``: objects of files, by server-side apply."""

import re
from typing import Annotated, Any, Final

import typer

from jobset.cli import failures, options, output
from jobset.client import kinds, manifests, objects
from jobset.client.jobsets import Jobsets
from jobset.kube import errors, requests


@options.on_cluster
async def command(
    target: options.Target,
    *,
    files: Annotated[list[str], typer.Option('--filename', '-f', help='A file, a folder, or "-".', metavar='FILE')],
    recursive: Annotated[bool, typer.Option('--recursive', '-R', help='Look into folders below folders.')] = False,
    force: Annotated[
        bool, typer.Option('--force-conflicts', help='Take over fields that others have written.')
    ] = False,
    dry_run: Annotated[bool, typer.Option('--dry-run', help='Let the server check it, and store nothing.')] = False,
    form: options.Output = 'table',
) -> int:
    """Create or change the objects of files, by server-side apply. What fails does not stop the others."""
    options.one_of(form, 'table', 'json', 'yaml', 'name')
    contents = manifests.read_all(files, recursive=recursive)
    for problem in contents.problems:
        output.warn(f'jobset: {problem}')
    failed = bool(contents.problems)
    if failed:
        # Half a file is not what anybody wants to have applied.
        return failures.FAILED
    applied: list[objects.Object] = []
    async with target.connect() as jobsets:
        applying = _Applying(jobsets, target, force=force, dry_run=dry_run)
        for document in contents.documents:
            try:
                outcome, obj = await applying.apply(document)
            except (errors.ApiError, kinds.UnknownKind, failures.Failure) as error:
                failed = True
                for line in _complaints(document, error):
                    output.warn(f'jobset: {line}')
                continue
            applied.append(obj)
            if form == 'table':
                output.write(f'{applying.name(obj)} {outcome.value}{" (dry run)" if dry_run else ""}')
            elif form == 'name':
                output.write(applying.name(obj))
    if form in ('json', 'yaml') and applied:
        items: dict[str, Any] = {'apiVersion': 'v1', 'kind': 'List', 'items': applied}
        output.write(output.document(applied[0] if len(applied) == 1 else items, form))
    return failures.FAILED if failed else 0


class _Applying:
    """Applies one object after the other, and remembers which kinds there are."""

    def __init__(self, jobsets: Jobsets, target: options.Target, *, force: bool, dry_run: bool) -> None:
        self._jobsets = jobsets
        self._target = target
        self._force = force
        self._dry_run = dry_run
        self._resources: dict[tuple[str, str], requests.Resource] = {}

    async def apply(self, document: manifests.Document) -> tuple[objects.Outcome, objects.Object]:
        source = self._jobsets.source
        resource = await self._resource(document.api_version, document.kind)
        namespace = self._namespace(document) if resource.namespaced else None
        metadata = document.obj.get('metadata')
        if not isinstance(metadata, dict) or not (metadata.get('name') or metadata.get('generateName')):
            raise failures.Failure('metadata.name: Required value: an object needs a name')
        if not metadata.get('name'):
            return objects.Outcome.CREATED, await objects.create(source, resource, namespace, document.obj)
        return await objects.apply(source, resource, namespace, document.obj, force=self._force, dry_run=self._dry_run)

    async def _resource(self, api_version: str, kind: str) -> requests.Resource:
        found = self._resources.get((api_version, kind))
        if found is None:
            found = await kinds.of_object(self._jobsets.source, api_version, kind)
            self._resources[(api_version, kind)] = found
        return found

    def _namespace(self, document: manifests.Document) -> str:
        own = document.obj['metadata'].get('namespace') if isinstance(document.obj.get('metadata'), dict) else None
        wanted = self._target.namespace
        if own and wanted and own != wanted:
            raise failures.Failure(f'metadata.namespace: {own}, but --namespace says {wanted}')
        return str(own or self._jobsets.namespace)

    @staticmethod
    def name(obj: objects.Object) -> str:
        """``kind.group/name``."""
        group = str(obj.get('apiVersion', '')).rpartition('/')[0]
        kind = str(obj.get('kind', '')).lower()
        return f'{kind}.{group}/{obj["metadata"]["name"]}' if group else f'{kind}/{obj["metadata"]["name"]}'


def _complaints(document: manifests.Document, error: Exception) -> list[str]:
    """What the server says against an object, each cause with the place of its field."""
    if isinstance(error, errors.ApiError) and error.causes:
        return [str(document.problem(_path(cause.field), cause.message)) for cause in error.causes]
    text = error.message if isinstance(error, errors.ApiError) else str(error)
    unknown = _UNDECLARED.findall(text)
    if unknown:
        return [str(document.problem(_path(field), 'field not declared in schema')) for field in unknown]
    return [f'{document.file}:{document.line}: {text}']


_UNDECLARED: Final = re.compile(r'(\.\S+): field not declared in schema')
"""How an apply names unknown fields, in a text for all of them."""


def _path(field: str) -> str:
    """Applies name fields from the root on, with a dot in front."""
    return '' if field == '<nil>' else field.lstrip('.')
