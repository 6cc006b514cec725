"""Admission by webhooks: who has to be asked before an object is stored, and asking them, over HTTPS or in process."""
