"""The SDK: JobSets of any cluster from Python, typed, asynchronous or not, and what the command line is made of.

::

    async with client.Jobsets.connect() as jobsets:
        await jobsets.create(client.build('hello', client.group('main', image='busybox', command=['echo', 'hello'])))
        await jobsets.wait('hello', timeout=60)

The same without ``async``: :mod:`jobset.client.sync`.
"""

from jobset.client.building import build, group
from jobset.client.failures import Gone, JobSetFailed, TookTooLong, WaitError
from jobset.client.jobsets import Change, Jobsets
from jobset.client.lines import Wanted

__all__ = ['Change', 'Gone', 'JobSetFailed', 'Jobsets', 'TookTooLong', 'WaitError', 'Wanted', 'build', 'group']
