"""Names, reasons and texts of the Job API that the controller writes or compares: one home for each.

Source: ``batch/v1`` as of Kubernetes 1.37, and what its Job controller was recorded to write.
"""

from typing import Final

API_VERSION: Final = 'batch/v1'
KIND: Final = 'Job'

FINALIZER: Final = 'batch.kubernetes.io/job-tracking'
"""Keeps a pod until it is counted in the status of its Job."""

COMPLETION_INDEX: Final = 'batch.kubernetes.io/job-completion-index'
INDEX_FAILURES: Final = 'batch.kubernetes.io/job-index-failure-count'
INDEX_IGNORED_FAILURES: Final = 'batch.kubernetes.io/job-index-ignored-failure-count'
INDEX_VARIABLE: Final = 'JOB_COMPLETION_INDEX'

MANAGER: Final = 'kubernetes.io/job-controller'
"""The value of ``spec.managedBy`` that means this controller."""

RECORDER: Final = 'job-controller'
"""In whose name Events are recorded."""

BATCH_PODS: Final = 500
"""Pods that one pass makes or deletes, and those that it counts, at most: so statuses and passes stay small."""
