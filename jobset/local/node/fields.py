"""What a pod can be told about itself: the downward API, for variables and for files.

Source: Kubernetes, "Downward API".
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from jobset.api import quantities
from jobset.local.node import specs
from jobset.local.node.model import Pod, Spec

_SUBSCRIPT: Final = re.compile(r"metadata\.(?P<map>labels|annotations)\['(?P<key>.*)'\]")


class Unknown(Exception):  # noqa: N818
    """There is no such field."""


def value(path: str, pod: Pod, *, ip: str, host_ip: str) -> str:
    """The field at ``path``. Raises :class:`Unknown`."""
    meta = pod.metadata
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is not None:
        held = meta.labels if subscript['map'] == 'labels' else meta.annotations
        return held.get(subscript['key'], '')
    match path:
        case 'metadata.labels':
            return listing(meta.labels)
        case 'metadata.annotations':
            return listing(meta.annotations)
        case 'status.podIP' | 'status.podIPs':
            return ip
        case 'status.hostIP' | 'status.hostIPs':
            return host_ip
    simple = {
        'metadata.name': meta.name,
        'metadata.namespace': meta.namespace,
        'metadata.uid': meta.uid,
        'spec.nodeName': str(pod.spec.get('nodeName') or ''),
        'spec.serviceAccountName': str(pod.spec.get('serviceAccountName') or 'default'),
        'spec.restartPolicy': str(pod.spec.get('restartPolicy') or 'Always'),
    }
    if path not in simple:
        raise Unknown(f'unsupported fieldPath: {path}')
    return simple[path]


def listing(entries: Mapping[str, str]) -> str:
    """A map as it stands in a file: a line for each entry, sorted, values in quotes."""
    return '\n'.join(f'{key}={json.dumps(entries[key], ensure_ascii=False)}' for key in sorted(entries))


def resource(selector: Spec, container: Spec, pod: Pod, allocatable: Mapping[str, str]) -> str:
    """What ``resourceFieldRef`` gives for ``container``, or for the one it names. Raises :class:`Unknown`.

    Without a limit of its own a container has what the node has.
    """
    wanted = selector.get('containerName')
    if wanted:
        named = [one for one in specs.containers(pod.spec) if one['name'] == wanted]
        if not named:
            raise Unknown(f'container {wanted} not found')
        container = named[0]
    kind, _, name = str(selector.get('resource') or '').partition('.')
    if kind not in ('limits', 'requests') or not name:
        raise Unknown(f'unsupported container resource: {selector.get("resource")}')
    shares = container.get('resources') or {}
    limit = (shares.get('limits') or {}).get(name)
    amount = limit if kind == 'limits' else (shares.get('requests') or {}).get(name, limit)
    if amount is None:
        amount = allocatable.get(name, '0') if kind == 'limits' else '0'
    divisor = quantities.parse(selector.get('divisor') or 1) or Fraction(1)
    return str(-(-quantities.parse(amount) // divisor))
