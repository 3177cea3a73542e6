"""What programs say about their Node to the API server: Events, a condition, a taint that goes."""
