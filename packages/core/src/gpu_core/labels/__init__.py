"""The node labels that describe its GPUs."""
