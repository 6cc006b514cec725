"""The webhook server: JobSets are completed and judged, pods of JobSets are labelled; with its certificates.

A process of its own on each replica: nothing that the controller does may delay the creation of a pod.
"""
