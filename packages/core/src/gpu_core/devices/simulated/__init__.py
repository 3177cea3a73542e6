"""Simulated nodes: GPUs, MIG devices, links and faults from a file, for trying and testing without hardware."""
