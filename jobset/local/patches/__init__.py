"""Patches of the four content types: JSON patch, merge, strategic merge, and server-side apply (:mod:`fields`)."""

from jobset.local.patches.merging import merge
from jobset.local.patches.operations import json_patch
from jobset.local.patches.strategic import strategic

__all__ = ['json_patch', 'merge', 'strategic']
