"""Makes what a pod's containers need: an address, folders, volumes, variables; and takes it away again."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from jobset.local.node import (
    attempts,
    environment,
    expansion,
    folders,
    mounts,
    names,
    sources,
    specs,
    volumes,
)
from jobset.local.node.environment import Problem
from jobset.local.node.model import Pod, Spec
from jobset.local.node.world import World


class Preparation:
    """What has been made for one pod."""

    def __init__(self, world: World) -> None:
        self.ip = ''
        self.is_made = False
        self._world = world
        self._pod: Pod | None = None
        self._volumes: dict[str, Path] = {}

    async def make(self, pod: Pod) -> None:
        """Makes all that is not there yet. Raises :class:`Problem` and others when something is missing."""
        self._pod = pod
        if not self.ip:
            self.ip = self._world.host_ip if pod.spec.get('hostNetwork') else self._world.addresses.take()
        folder = self._folder(pod)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / 'work').mkdir(exist_ok=True)
        self._write_names(pod, folder)
        await self._make_volumes(pod)
        self.is_made = True
        if not self._world.namespaces:
            self._warn(pod)
        if self._world.why_no_ports and not pod.spec.get('hostNetwork'):
            text = f'pods share the ports of this machine ({self._world.why_no_ports}): who listens on all addresses'
            self._world.record(pod, 'SharedPorts', f'{text} keeps others from that port', is_warning=True)

    async def refresh(self, pod: Pod) -> None:
        """Brings volumes that are made from objects up to date."""
        for volume in pod.spec.get('volumes') or ():
            if any(volume.get(kind) is not None for kind in volumes.MADE):
                await self._make_files(pod, volume)

    async def setting(self, pod: Pod, container: Spec, run: int) -> attempts.Setting:
        """What a run of a container needs. Raises :class:`Problem`."""
        folder = self._folder(pod)
        around = await self._around(pod, environment.needed(container))
        env = environment.build(container, pod, around)
        found = [] if self._is_bare else [self._mount(mount, env) for mount in container.get('volumeMounts') or ()]
        if not self._is_bare:
            found += self._system_files(pod, folder)
        else:
            env |= self._fallback(container, env)
        return attempts.Setting(
            pod=pod,
            container=container,
            run=run,
            env=env,
            mounts=found,
            folder=folder / 'containers' / str(container['name']),
            ip=self.ip,
            default_cwd=folder / 'work',
        )

    async def release(self, pod: Pod) -> None:
        """Takes away what a pod does not need that has ended: all but its logs.

        Its folder may be there though nothing was made here, by a node that ended before the pod did.
        """
        self.leave()
        await asyncio.to_thread(folders.remove, self._folder(pod))

    def leave(self) -> None:
        """Gives back what is only lent. Files stay, for a node that takes the pod on again."""
        if self._pod is None:
            return
        self._world.directory.remove(self._folder(self._pod) / 'hosts')
        if self.ip and not self._pod.spec.get('hostNetwork'):
            self._world.addresses.give_back(self.ip)
        self._pod, self.is_made = None, False

    # Names.

    def _write_names(self, pod: Pod, folder: Path) -> None:
        meta, spec = pod.metadata, pod.spec
        hostname = specs.hostname(meta.name, spec)
        aliases = [(alias['ip'], alias.get('hostnames') or []) for alias in spec.get('hostAliases') or ()]
        header = names.header(self.ip, hostname, str(spec.get('subdomain') or ''), meta.namespace, aliases)
        self._world.directory.add(folder / 'hosts', namespace=meta.namespace, header=header)
        (folder / 'hostname').write_text(f'{hostname}\n')
        try:
            machine = Path('/etc/resolv.conf').read_text()
        except OSError:
            machine = ''
        (folder / 'resolv.conf').write_text(names.resolver(spec, machine, meta.namespace))

    def _system_files(self, pod: Pod, folder: Path) -> list[mounts.Mount]:
        return [
            mounts.Mount(source=str(folder / name), target=f'/etc/{name}', is_file=True)
            for name in ('hosts', 'resolv.conf', 'hostname')
        ]

    # Volumes.

    async def _make_volumes(self, pod: Pod) -> None:
        for volume in pod.spec.get('volumes') or ():
            try:
                self._volumes[volume['name']] = await self._make_volume(pod, volume)
            except Problem as problem:
                raise Problem(f'volume "{volume["name"]}": {problem}') from None

    async def _make_volume(self, pod: Pod, volume: Spec) -> Path:
        if any(volume.get(kind) is not None for kind in volumes.MADE):
            return await self._make_files(pod, volume)
        if volume.get('hostPath') is not None:
            return folders.host_path(volume['hostPath'])
        claim = (volume.get('persistentVolumeClaim') or {}).get('claimName')
        if volume.get('ephemeral') is not None:
            claim = f'{pod.metadata.name}-{volume["name"]}'
        if claim:
            return folders.made(Path(await sources.claimed_folder(self._world.api, pod.metadata.namespace, claim)))
        kinds = [kind for kind in volume if kind != 'name']
        if kinds not in ([], ['emptyDir']):
            raise Problem(f'{kinds[0]} volumes are not supported by this node; use hostPath or a claim')
        return folders.made(self._volume_folder(pod, volume))

    async def _make_files(self, pod: Pod, volume: Spec) -> Path:
        around = await self._around(pod, volumes.needed(volume))
        settings = self._world.settings
        account = volumes.Account(token=settings.token, certificate=settings.certificate)
        path = self._volume_folder(pod, volume)
        folders.write(path, volumes.files(volume, pod, around, account))
        return path

    def _mount(self, mount: Spec, env: dict[str, str]) -> mounts.Mount:
        source, is_read_only = self._source(mount, env)
        return mounts.Mount(
            source=str(source),
            target=mount['mountPath'],
            is_file=not source.is_dir(),
            is_read_only=is_read_only,
        )

    def _source(self, mount: Spec, env: dict[str, str]) -> tuple[Path, bool]:
        volume = self._volumes.get(mount['name'])
        if volume is None:
            raise Problem(f'there is no volume "{mount["name"]}"')
        sub_path = mount.get('subPath') or expansion.expand(mount.get('subPathExpr') or '', env)
        assert self._pod is not None  # noqa: S101 - for the type checker
        declared = next(one for one in self._pod.spec['volumes'] if one['name'] == mount['name'])
        is_made = any(declared.get(kind) is not None for kind in volumes.MADE)
        is_read_only = bool(mount.get('readOnly')) or is_made
        is_read_only = is_read_only or bool((declared.get('persistentVolumeClaim') or {}).get('readOnly'))
        return (folders.below(volume, sub_path) if sub_path else volume), is_read_only

    # Without namespaces.

    @property
    def _is_bare(self) -> bool:
        return not self._world.namespaces

    def _fallback(self, container: Spec, env: dict[str, str]) -> dict[str, str]:
        """Variables that tell where things are which cannot be put where they belong."""
        assert self._pod is not None  # noqa: S101 - for the type checker
        folder = self._folder(self._pod)
        shim = str(Path(__file__).parent / 'resolver')
        made = {'JOBSET_HOSTS': str(folder / 'hosts')}
        made['PYTHONPATH'] = f'{shim}:{env["PYTHONPATH"]}' if env.get('PYTHONPATH') else shim
        for mount in container.get('volumeMounts') or ():
            source, _ = self._source(mount, env)
            made[f'JOBSET_VOLUME_{mount["name"].upper().replace("-", "_")}'] = str(source)
        return made

    def _warn(self, pod: Pod) -> None:
        places = sorted(
            {mount['mountPath'] for one in specs.containers(pod.spec) for mount in one.get('volumeMounts') or ()}
        )
        text = f'no namespaces on this machine ({self._world.why_none}): names of pods are known to Python only'
        if places:
            text += f'; volumes are not at {", ".join(places)} but where the variables JOBSET_VOLUME_<NAME> say'
        self._world.record(pod, 'NoNamespaces', text, is_warning=True)

    # What all use.

    async def _around(self, pod: Pod, wanted: Iterable[environment.Source]) -> environment.Surroundings:
        world, namespace = self._world, pod.metadata.namespace
        base = {**world.environment, 'HOSTNAME': specs.hostname(pod.metadata.name, pod.spec)}
        links = pod.spec.get('enableServiceLinks') is not False
        return environment.Surroundings(
            ip=self.ip,
            host_ip=world.host_ip,
            sources=await sources.read(world.api, namespace, wanted),
            base=base,
            services=environment.of_services(world.directory.of_namespace(namespace)) if links else {},
            allocatable=world.allocatable,
        )

    def _folder(self, pod: Pod) -> Path:
        return self._world.folder / 'pods' / pod.metadata.uid

    def _volume_folder(self, pod: Pod, volume: Spec) -> Path:
        return self._folder(pod) / 'volumes' / str(volume['name'])
