"""The controller against the API server's own limit, on a real control plane without Job controller."""
