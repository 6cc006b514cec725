"""What a pod says about itself: the variables of the Go agent, and a few of ours."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
"""Where the kubelet puts the token, the authority and the namespace of a pod."""

BARRIER_VARIABLE = 'JOBSET_START_BARRIER'


class Misused(Exception):  # noqa: N818
    """The pod is set up wrongly; the text says how."""


class Settings:
    """What the pod says about itself."""

    def __init__(self, environment: Mapping[str, str], arguments: list[str]) -> None:
        self.account = environment.get('JOBSET_SERVICE_ACCOUNT_DIR') or ACCOUNT
        try:
            self.namespace = read(f'{self.account}/namespace').strip()
        except OSError as error:
            raise Misused(
                f'{error.filename}: {error.strerror}; mount the service account into this container'
            ) from None
        self.jobset = _needed(environment, 'JOBSET_NAME', "metadata.annotations['jobset.sigs.k8s.io/jobset-name']")
        self.pod = _needed(environment, 'POD_NAME', 'metadata.name')
        self.host = _needed(environment, 'KUBERNETES_SERVICE_HOST')
        self.port = _number(environment, 'KUBERNETES_SERVICE_PORT', 443, most=65535)
        self.exit_code = _number(environment, 'IN_PLACE_RESTART_EXIT_CODE', 1, most=255)
        self.has_barrier = _switch(environment, BARRIER_VARIABLE)
        self.command = _command(environment, arguments)
        if self.command:
            for name in ('STARTUP_PROBE_PATH', 'STARTUP_PROBE_PORT'):
                if environment.get(name):
                    raise Misused(f'{name}: there is no barrier to probe where the agent runs the worker; unset it')
        self.probe_path = environment.get('STARTUP_PROBE_PATH') or '/barrier-is-down'
        self.probe_port = _number(environment, 'STARTUP_PROBE_PORT', 8081, most=65535)


def read(path: str) -> str:
    with open(path, encoding='utf-8') as file:
        return file.read()


def _needed(environment: Mapping[str, str], name: str, field: str = '') -> str:
    value = environment.get(name, '')
    if not value:
        raise Misused(f'{name}: not set' + (f'; take it from the field {field}' if field else ''))
    if not all(each.isalnum() or each in '-.:' for each in value):
        raise Misused(f'{name}: {value!r} is no name')
    return value


def _number(environment: Mapping[str, str], name: str, default: int, *, most: int) -> int:
    text = environment.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= most):
        raise Misused(f'{name}: {text!r} is no number from 1 to {most}')
    return int(text)


def _switch(environment: Mapping[str, str], name: str) -> bool:
    text = environment.get(name, '').lower()
    if text not in ('', '0', 'false', '1', 'true'):
        raise Misused(f'{name}: {text!r} is neither 1 nor 0')
    return text in ('1', 'true')


def _command(environment: Mapping[str, str], arguments: list[str]) -> list[str]:
    """The worker's command; empty where the worker is a container of its own."""
    line = environment.get('WORKER_COMMAND', '')
    if arguments and line:
        raise Misused('WORKER_COMMAND: there is a command in the arguments, too; give one of them')
    if arguments:
        if arguments[0] != '--' or not arguments[1:]:
            raise Misused(f'{arguments[0]}: unknown; to run a worker, give its command after "--"')
        return arguments[1:]
    return [environment.get('SHELL') or _shell(environment), '-c', line] if line else []


def _shell(environment: Mapping[str, str]) -> str:
    # An image without bash still has what POSIX asks for.
    folders = environment.get('PATH', os.defpath).split(os.pathsep)
    return next((path for path in (f'{folder}/bash' for folder in folders) if os.access(path, os.X_OK)), '/bin/sh')
