"""Which one of several replicas may write: the holder of a ``coordination.k8s.io`` Lease.

The holder renews its Lease by compare-and-swap on the resource version. Others take it when it has not changed for its
duration *as they themselves saw it*: clocks of different machines are never compared. The holder, in turn, stops
trusting itself well before that: ``renew_deadline`` after the start of its last successful renewal.

Between the check before a write and its arrival at the server lie the in-flight time and nothing else, and for that
there is the difference between the deadline and the duration.
"""

import asyncio
import contextlib
import logging
import math
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from jobset.api import meta
from jobset.kube import backoff, client, errors, requests, times

logger = logging.getLogger(__name__)


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """``spec`` of a Lease, complete: what others have set there is written back."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """The record that replicas compete for."""

    api_version: str = 'coordination.k8s.io/v1'
    kind: str = 'Lease'
    metadata: meta.ObjectMeta = meta.ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class Lost(Exception):  # noqa: N818 - it says what has happened
    """This replica has led and does so no more."""


@dataclass(frozen=True, kw_only=True)
class Leasing:
    """The rhythm of leadership; the defaults are those of all Kubernetes components."""

    lease_duration: float = 15
    """Seconds without a renewal after which others may take over. Written to the Lease in whole seconds."""

    renew_deadline: float = 10
    """Seconds after the start of the last renewal at which the holder stops to lead."""

    retry_period: float = 2
    """Seconds between attempts, to renew or to acquire; the latter with a jitter."""

    release_timeout: float = 5
    """Seconds that giving the Lease back may take at the end."""

    def __post_init__(self) -> None:
        if not 0 < self.retry_period * 1.2 < self.renew_deadline < self.lease_duration:
            raise ValueError(
                f'leader election: {self.retry_period} s retry period, {self.renew_deadline} s renew deadline and '
                f'{self.lease_duration} s lease duration must grow in this order, the deadline to at least 1.2 periods'
            )


def uptime() -> float:
    """Seconds on a clock that also runs while the machine sleeps, where the system has one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, 'CLOCK_BOOTTIME') else time.monotonic()


def identity() -> str:
    """A name for this process that no other one has, not even its own successor in the same pod."""
    return f'{socket.gethostname()}_{uuid.uuid4()}'


class Elector:
    """One replica's part in the competition for a Lease.

    :meth:`check` is the guard for all writes that only the leader may do. The client given here must not have it.
    """

    def __init__(
        self,
        source: client.Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        settings: Leasing | None = None,
        on_change: Callable[[bool], None] | None = None,
        clock: Callable[[], float] = uptime,
    ) -> None:
        self.identity = identity
        self._source = source
        self._namespace = namespace
        self._name = name
        self._settings = settings or Leasing()
        self._on_change = on_change
        self._clock = clock
        self._valid_until = float('-inf')
        self._leads = asyncio.Event()
        self._lease: Lease | None = None  # as last read or written; None when it may be otherwise
        self._seen: LeaseSpec | None = None  # the newest record that was seen
        self._seen_at = 0.0  # when it was first seen, on our clock

    def holds(self) -> bool:
        """Whether this replica leads at this very moment."""
        return self._clock() < self._valid_until

    def check(self) -> None:
        """Raises :class:`~jobset.kube.errors.NotLeading` unless this replica leads at this very moment."""
        if not self.holds():
            raise errors.NotLeading(f'{self.identity} does not hold the lease {self._namespace}/{self._name}')

    async def held(self) -> None:
        """Waits until this replica leads."""
        await self._leads.wait()

    async def run(self) -> NoReturn:
        """Waits for leadership and keeps it. Raises :class:`Lost` when it had it; may be called again then."""
        await self._acquire()
        self._turn(leads=True)
        try:
            reason = await self._keep()
        finally:
            self._valid_until = float('-inf')
            self._turn(leads=False)
        raise Lost(f'lease {self._namespace}/{self._name}: {reason}')

    async def release(self) -> None:
        """Gives the Lease back, if it is ours, so that another replica need not wait. To be called after :meth:`run`.

        Bounded in time; a failure is logged, because nothing more can be done about it.
        """
        self._valid_until = float('-inf')
        try:
            async with asyncio.timeout(self._settings.release_timeout):
                await self._give_back()
        except (errors.ApiError, TimeoutError) as error:
            logger.warning('lease %s/%s: not given back: %s', self._namespace, self._name, error or 'timed out')

    async def _acquire(self) -> None:
        while True:
            if await self._attempt(self._settings.renew_deadline):
                return
            await asyncio.sleep(backoff.jittered(self._settings.retry_period, 1.2))

    async def _keep(self) -> str:
        """Renews for as long as that works; returns why it does not any more."""
        while True:
            await asyncio.sleep(self._settings.retry_period)
            remaining = self._valid_until - self._clock()
            if remaining <= 0:
                # Not tried any more, even if it might work: what was begun under the old claim must end first.
                return f'not renewed within {self._settings.renew_deadline} s'
            await self._attempt(remaining)
            if self._holder() not in {'', self.identity}:
                return f'taken by {self._holder()}'

    async def _attempt(self, seconds: float) -> bool:
        """One attempt to acquire or renew, within ``seconds`` and never so long that a second one has no time."""
        try:
            async with asyncio.timeout(min(seconds, self._settings.renew_deadline / 2)):
                return await self._try()
        except (errors.ApiError, TimeoutError) as error:
            # It may have happened nevertheless: nothing that we know of the record is sure.
            self._forget()
            logger.warning('lease %s/%s: %s; trying again', self._namespace, self._name, error or 'no answer in time')
            return False

    async def _try(self) -> bool:
        started = self._clock()
        # While we hold it, what we wrote last is what is there, and the resource version proves it.
        lease = self._lease if self.holds() and self._lease is not None else await self._look()
        if lease is not None and not self._may_take(lease):
            return False
        try:
            if lease is None:
                written = await self._source.request(self._creation(), Lease)
            else:
                written = await self._write(lease, self._claim(lease.spec))
        except (errors.AlreadyExists, errors.Conflict, errors.NotFound):
            # Somebody else was faster, or has removed it: look before the next attempt.
            self._forget()
            return False
        self._remember(written)
        self._valid_until = started + self._settings.renew_deadline
        return True

    async def _look(self) -> Lease | None:
        try:
            lease = await self._source.request(requests.read(requests.LEASES, self._namespace, self._name), Lease)
        except errors.NotFound:
            self._lease = None
            return None
        self._remember(lease)
        return lease

    async def _write(self, lease: Lease, spec: LeaseSpec) -> Lease:
        body = Lease(metadata=lease.metadata, spec=spec)
        return await self._source.request(requests.replace(requests.LEASES, self._namespace, self._name, body), Lease)

    async def _give_back(self) -> None:
        for _ in range(2):
            # A renewal may have been under way when it was cancelled: then our record is old, and the next one is not.
            lease = await self._look()
            if lease is None or lease.spec.holder_identity != self.identity:
                return
            spec = msgspec.structs.replace(
                lease.spec, holder_identity=None, lease_duration_seconds=1, renew_time=times.micro(times.now())
            )
            with contextlib.suppress(errors.Conflict):
                self._remember(await self._write(lease, spec))
                logger.info('lease %s/%s: given back', self._namespace, self._name)
                return

    def _may_take(self, lease: Lease) -> bool:
        holder = lease.spec.holder_identity
        if not holder or holder == self.identity:
            return True
        duration = lease.spec.lease_duration_seconds or self._settings.lease_duration
        return self._clock() >= self._seen_at + duration

    def _claim(self, old: LeaseSpec) -> LeaseSpec:
        now = times.micro(times.now())
        renewed = msgspec.structs.replace(
            old,
            holder_identity=self.identity,
            lease_duration_seconds=max(1, math.ceil(self._settings.lease_duration)),
            renew_time=now,
        )
        if old.holder_identity == self.identity:
            return renewed
        return msgspec.structs.replace(renewed, acquire_time=now, lease_transitions=(old.lease_transitions or 0) + 1)

    def _creation(self) -> requests.Request:
        spec = msgspec.structs.replace(self._claim(LeaseSpec()), lease_transitions=0)
        body = Lease(metadata=meta.ObjectMeta(namespace=self._namespace, name=self._name), spec=spec)
        return requests.create(requests.LEASES, self._namespace, body)

    def _remember(self, lease: Lease) -> None:
        if lease.spec != self._seen:
            self._seen = lease.spec
            self._seen_at = self._clock()
        self._lease = lease

    def _forget(self) -> None:
        self._lease = None

    def _holder(self) -> str:
        return (self._lease and self._lease.spec.holder_identity) or ''

    def _turn(self, *, leads: bool) -> None:
        if leads:
            self._leads.set()
        else:
            self._leads.clear()
        logger.info(
            'lease %s/%s: %s %s', self._namespace, self._name, self.identity, 'leads' if leads else 'leads no more'
        )
        if self._on_change is not None:
            self._on_change(leads)
