"""Which child Jobs a JobSet should have, and what each is called.

Source: JobSet API, naming of child Jobs: ``<jobset>-<replicated job>-<index>``. Nothing is ever shortened; names that
would be too long are refused at admission.
"""

from collections.abc import Iterator
from typing import NamedTuple

from jobset.api import types


class Child(NamedTuple):
    """One wanted Job: the ``job_index``-th of the replicated job at ``position`` in the spec. Both count from zero."""

    name: str
    position: int
    job_index: int


def wanted(jobset: types.JobSet, position: int) -> Iterator[Child]:
    """The Jobs of the replicated job at ``position``, in order. Made one by one: there may be two thousand million."""
    job = jobset.spec.replicated_jobs[position]
    prefix = f'{jobset.metadata.name}-{job.name}'
    return (Child(f'{prefix}-{index}', position, index) for index in range(job.count))
