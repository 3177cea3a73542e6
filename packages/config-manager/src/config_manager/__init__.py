"""Selects the config file of a node from its label and makes the GPU programs reload."""
