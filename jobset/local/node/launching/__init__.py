"""The process that starts a container's processes, holds their namespaces, and ends with all of them."""
