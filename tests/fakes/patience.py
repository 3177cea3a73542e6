"""How long tests wait for what has to come."""

PATIENCE = 60.0
"""Seconds: so long that a machine with ten times its work is not taken for a program that hangs, and half of what a
test may take in all. What is shown to come in time needs a clock of its own instead."""
