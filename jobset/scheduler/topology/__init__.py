"""Where the pods of a gang go: domains of nodes, what fits in them, and which of them to take. No I/O, no clock.

:mod:`placing` is the door. :mod:`requests` says what may be asked, :mod:`nodes` what a node is, :mod:`tree` keeps the
domains and their free amounts, :mod:`fitting` counts pods per leaf, :mod:`rollup` adds the counts up, :mod:`choosing`
picks among domains of one level, :mod:`levels` finds the level, :mod:`walking` goes down from it, :mod:`balanced`
spreads evenly, :mod:`elastic` changes the number of pods, and :mod:`replacing` moves the share of lost nodes.
"""
