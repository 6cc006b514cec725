"""The names that pods of one cluster know each other by, as lines of a hosts file.

Source: Kubernetes, "DNS for Services and Pods". A file cannot search: every form of a name that a resolver would find
by searching stands in it, for the namespace whose pods read it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

DOMAIN: str = 'cluster.local'

LOCALHOST: str = """127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A pod with an address."""

    namespace: str
    name: str
    ip: str
    hostname: str = ''
    """Empty unless the spec names one: only then it has a name below its subdomain."""

    subdomain: str = ''
    labels: Mapping[str, str] = field(default_factory=dict)
    is_ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A name for all pods with some labels."""

    namespace: str
    name: str
    selector: Mapping[str, str] = field(default_factory=dict)
    publishes_unready: bool = False


def entries(hosts: Iterable[Host], services: Iterable[Service]) -> list[tuple[str, str, str]]:
    """Address, name without domain and namespace, and namespace, for all that has a name. In a stable order."""
    found: set[tuple[str, str, str]] = set()
    pods = list(hosts)
    for service in services:
        for host in _members(service, pods):
            found.add((host.ip, service.name, service.namespace))
            if host.hostname and host.subdomain == service.name:
                found.add((host.ip, f'{host.hostname}.{service.name}', service.namespace))
    return sorted(found, key=lambda entry: (entry[2], entry[1], _number(entry[0])))


def render(found: Sequence[tuple[str, str, str]], namespace: str, *, domain: str = DOMAIN) -> str:
    """The lines for pods of ``namespace``."""
    return ''.join(f'{ip}\t{" ".join(_forms(name, owner, namespace, domain))}\n' for ip, name, owner in found)


def header(ip: str, hostname: str, subdomain: str, namespace: str, aliases: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The lines that are a pod's own: its host name, and what its spec adds."""
    own = [hostname]
    if subdomain:
        own = [f'{hostname}.{subdomain}.{namespace}.svc.{DOMAIN}', hostname]
    lines = [LOCALHOST, f'{ip}\t{" ".join(own)}\n']
    lines.extend(f'{address}\t{" ".join(names)}\n' for address, names in aliases)
    return ''.join(lines)


def resolver(spec: Mapping[str, object], machine: str, namespace: str) -> str:
    """The resolver's configuration of a pod, made from that of the machine.

    Names of the cluster stand in the hosts file. They must not be looked for elsewhere, so nothing of the cluster is in
    the search list, and what has no answer has none soon.
    """
    config = spec.get('dnsConfig')
    config = config if isinstance(config, dict) else {}
    kept = [] if spec.get('dnsPolicy') == 'None' else [line for line in machine.splitlines() if _is_kept(line)]
    servers = [f'nameserver {server}' for server in config.get('nameservers') or ()]
    lines = [*servers, *kept]
    if config.get('searches'):
        lines.append(f'search {" ".join(config["searches"])}')
    options = [
        f'{option["name"]}:{option["value"]}' if option.get('value') else str(option['name'])
        for option in config.get('options') or ()
    ]
    lines.append(f'options {" ".join([*options, "timeout:2", "attempts:2"])}')
    return '\n'.join(lines) + '\n'


def _is_kept(line: str) -> bool:
    return line.split(maxsplit=1)[:1] in (['nameserver'], ['search'], ['options'])


def _members(service: Service, hosts: Iterable[Host]) -> Iterator[Host]:
    if not service.selector:
        return
    for host in hosts:
        fits = host.namespace == service.namespace and service.selector.items() <= host.labels.items()
        if fits and (host.is_ready or service.publishes_unready):
            yield host


def _forms(name: str, owner: str, namespace: str, domain: str) -> list[str]:
    full = [f'{name}.{owner}.svc.{domain}', f'{name}.{owner}.svc', f'{name}.{owner}']
    return [*full, name] if owner == namespace else full


def _number(ip: str) -> tuple[int, ...]:
    return tuple(int(part) for part in ip.split('.'))
