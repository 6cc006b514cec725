"""How much queues may use."""
