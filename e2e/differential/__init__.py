"""The same writes to a real API server and to the embedded one, whose answers must be the same."""
