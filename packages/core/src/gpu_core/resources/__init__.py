"""What is advertised to the kubelet, and how it is chosen."""
