"""NVML: its library, its calls, and what is made of its answers."""
