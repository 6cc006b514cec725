"""The API server of the plane: requests in, answers out, whether they come over HTTPS or from this process.

:class:`jobset.local.server.server.Server` answers; :mod:`jobset.local.server.listener` brings it requests over HTTPS,
:mod:`jobset.local.server.direct` those of the plane's own controllers. One module a question lies below.
"""
