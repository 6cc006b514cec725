"""Kubernetes machinery that knows nothing of JobSets: requests, credentials, caches, work queue, leadership, events."""
