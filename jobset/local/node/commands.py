"""What a container runs: its words, its variables, its folder."""

from collections.abc import Mapping
from typing import Final

from jobset.local.node import expansion, folders, images
from jobset.local.node.model import Spec

MACHINE: Final = folders.Machine()


class Missing(Exception):  # noqa: N818
    """There is nothing to run; the text says what to do."""


def build(
    container: Spec,
    env: Mapping[str, str],
    known: Mapping[str, images.Image],
    *,
    default_cwd: str,
) -> tuple[list[str], dict[str, str], str]:
    """Words, variables and folder. Raises :class:`Missing`."""
    image = images.find(str(container.get('image') or ''), known)
    command = [expansion.expand(word, env) for word in container.get('command') or ()]
    arguments = [expansion.expand(word, env) for word in container.get('args') or ()]
    if not command and image is not None:
        command = list(image.command)
    if not command and arguments and images.is_bare(str(container.get('image') or '')):
        command, arguments = arguments, []
    if not command:
        raise Missing(
            f'container {container["name"]} names no command, and the image "{container.get("image")}" is not run '
            'here: give the container a command, or map the image to one'
        )
    cwd = container.get('workingDir') or ''
    made = dict(env)
    if image is not None:
        made = {**image.env, **made}
        command = [*image.prefix, *command]
        cwd = cwd or image.working_dir
        if image.path:
            made['PATH'] = ':'.join([*image.path, made.get('PATH', '')]).rstrip(':')
    return [*command, *arguments], made, cwd or default_cwd
