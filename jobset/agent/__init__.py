"""What runs in pods: the agent that holds workers back until all of them are there, and restarts them in place.

One file, :mod:`jobset.agent.main`, because it goes into images that have none of our packages, and perhaps an old
Python: it imports the standard library only, and as little of that as it can, since every restart waits for it.
"""
