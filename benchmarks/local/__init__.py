"""How fast the embedded control plane is."""
