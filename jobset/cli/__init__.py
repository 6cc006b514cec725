"""The command line: ``jobset``, and the same as ``kubectl jobset``.

One module a command in :mod:`jobset.cli.commands`, imported when the command is called: the first line must be there
before a person waits for it. What a command says is made by pure functions of what was observed (:mod:`jobset.client`).
"""
