"""The Kubernetes device plugin: serves the kubelet with the NVIDIA GPUs of its node."""
