"""How much each queue may use, of which flavour, and whose turn it is. No I/O, no clock.

:mod:`checks` says what is wrong with queues and cohorts, :mod:`tree` counts what is used in all of them, :mod:`node` in
one, :mod:`matching` says which flavours suit a pod set, :mod:`peaks` adds pod sets up, :mod:`flavours` picks a flavour
for each, :mod:`fairness` compares those who borrow, and :mod:`history` remembers what they had.
"""
