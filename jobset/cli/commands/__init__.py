"""The commands, one module each: ``command`` is the function, or ``app`` a group of functions.

A module is named like its command, and listed in :data:`jobset.cli.registry.COMMANDS`.
"""
