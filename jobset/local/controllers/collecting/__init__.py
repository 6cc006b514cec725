"""The garbage collector: deletes what its owners have left behind, in the order that was asked for.

Source: Kubernetes, "Garbage Collection" and "Owners and Dependents". What is known is in :mod:`graph`, what follows
from it in :mod:`decisions`, and :mod:`collector` carries that out.
"""
