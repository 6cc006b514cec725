"""Who yields to whom."""
