"""What a running program answers over HTTP: probes, numbers, pages."""
