"""Which child Jobs a JobSet should have, and what each is called.

Source: JobSet API, naming of child Jobs: ``<jobset>-<replicated job>-<index>``. Nothing is ever shortened; names that
would be too long are refused at admission.
"""

from typing import NamedTuple

from jobset.api import types


class Child(NamedTuple):
    """One wanted Job: the ``job_index``-th of the replicated job at ``position`` in the spec. Both count from zero."""

    name: str
    position: int
    job_index: int


def expected(jobset: types.JobSet) -> tuple[tuple[Child, ...], ...]:
    """All wanted Jobs, one tuple for each replicated job, both in order."""
    prefix = jobset.metadata.name
    return tuple(
        tuple(Child(f'{prefix}-{job.name}-{index}', position, index) for index in range(job.count))
        for position, job in enumerate(jobset.spec.replicated_jobs)
    )
