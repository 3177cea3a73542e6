"""What GPUs a node has, read from its driver."""
