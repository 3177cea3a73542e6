"""What every long-running program needs."""
