"""Where the plane keeps its objects: one counter of revisions, records in order, a ring of events, a journal on disk.

:class:`jobset.local.store.storage.Store` is all that others use. It knows neither kinds nor rules: it keeps the bytes
that the server has made, and what it takes to find them, to page through them and to tell who watches.
"""
