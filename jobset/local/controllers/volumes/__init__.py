"""Storage: claims are given volumes, which are folders of this machine, and what is in use is kept from going.

What is decided is in :mod:`binding`; :mod:`controller` carries it out.
"""
