"""Whether the success policy speaks of replicated jobs that exist."""

from jobset.api import types
from jobset.api.validation import fields


def check(spec: types.Spec) -> list[fields.FieldError]:
    """The mistakes in ``spec.successPolicy``."""
    known = {replicated.name for replicated in spec.replicated_jobs}
    targets = spec.success_policy.target_replicated_jobs if spec.success_policy else ()
    return [
        fields.plain(f"invalid replicatedJob name '{target}' does not appear in .spec.ReplicatedJobs")
        for target in targets
        if target not in known
    ]
