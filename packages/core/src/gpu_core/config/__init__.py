"""The configuration that all programs share."""
