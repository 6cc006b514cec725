"""The embedded scheduler: who runs first, where, who must yield, and why. Pure: facts in, decisions out."""
