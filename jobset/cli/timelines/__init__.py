"""Timelines: what a JobSet has done when, as a picture.

:mod:`layout` places bars on a scale of time, without knowing what they are drawn with; :mod:`terminal` draws them with
characters, :mod:`shapes` with rectangles and texts, which :mod:`svg` and :mod:`png` write into files.
"""
