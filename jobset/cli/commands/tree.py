"""``jobset tree NAME``: a JobSet with all that belongs to it."""

from jobset.cli import options, output, trees


@options.on_cluster
async def command(target: options.Target, *, name: options.Name, form: options.Output = 'table') -> None:
    """Show a JobSet with its Jobs, pods, volumes and groups, and how each of them is."""
    options.one_of(form, 'table', 'json', 'yaml', 'name')
    async with target.connect() as jobsets:
        family = await jobsets.family(name, with_events=False)
    tree = trees.of(family, output.now())
    match form:
        case 'table':
            output.show(trees.lines(tree))
        case 'name':
            for line in trees.names(tree):
                output.write(line)
        case _:
            output.write(output.document(trees.document(tree), form))
