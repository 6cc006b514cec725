"""Lets Python programs find the names of pods where the hosts file of the machine cannot be replaced for them.

Put on the path of modules by the node, which names the file in ``JOBSET_HOSTS``. Everything else goes on as before: a
``sitecustomize`` of the user's own is run too, and names that are not in the file are looked up as usual.
"""

import os
import socket
import sys
from importlib import machinery
from pathlib import Path
from typing import Any


def names() -> dict[str, list[str]]:
    """The addresses of each name, as they are at this moment."""
    found: dict[str, list[str]] = {}
    try:
        text = Path(os.environ['JOBSET_HOSTS']).read_text(encoding='utf-8')
    except (KeyError, OSError):
        return found
    for line in text.splitlines():
        address, *hosts = line.partition('#')[0].split() or ['']
        for host in hosts:
            found.setdefault(host, []).append(address)
    return found


def install() -> None:
    """Asks the file before anybody else."""
    plain: Any = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        addresses = names().get(name.rstrip('.')) if isinstance(name, str) else None
        found = [entry for address in addresses or () for entry in plain(address, port, *rest, **more)]
        return found or plain(host, port, *rest, **more)

    def gethostbyname(name: str) -> str:
        return str(getaddrinfo(name, None, socket.AF_INET)[0][4][0])

    socket.getaddrinfo = getaddrinfo
    socket.gethostbyname = gethostbyname


def run_users_own() -> None:
    """Runs the module that this one stands in front of."""
    here = Path(__file__).resolve().parent
    rest = [entry for entry in sys.path if Path(entry or '.').resolve() != here]
    spec = machinery.PathFinder.find_spec('sitecustomize', rest)
    if spec is not None and spec.loader is not None:
        module = type(sys)('sitecustomize')
        module.__file__ = spec.origin
        spec.loader.exec_module(module)


if 'JOBSET_HOSTS' in os.environ:
    install()
    run_users_own()
