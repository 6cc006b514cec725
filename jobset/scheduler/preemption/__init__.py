"""Who has to yield so that a JobSet can start, as a last resort. No I/O, no clock.

:mod:`candidates` says who may be evicted at all, :mod:`search` finds the fewest of them without whom it fits,
:mod:`preferences` compares sets of as many, :mod:`trials` answers what would fit without somebody, and :mod:`reasons`
tells why nobody goes. :mod:`worlds` and :mod:`holdings` keep trials cheap.
"""
