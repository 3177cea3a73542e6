"""Which of the available devices a container had best get: GetPreferredAllocation, answered. Pure."""
