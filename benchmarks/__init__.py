"""How fast and how large: measured as ratios within one run, because machines differ. Nothing here is a test."""
