"""GPU feature discovery: describes the GPUs of a node as node labels."""
