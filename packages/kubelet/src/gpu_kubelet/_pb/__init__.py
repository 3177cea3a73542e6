"""Code generated from protos/ by `make protos`: the kubelet's device plugin API and its pod resources API."""
