"""What the GPU programs share: configuration, hardware facts, resources, labels, CDI and MPS rules."""
