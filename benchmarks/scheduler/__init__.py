"""How fast the embedded scheduler decides."""
