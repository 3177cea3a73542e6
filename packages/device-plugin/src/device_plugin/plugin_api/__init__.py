"""The kubelet's device plugin API, v1beta1, served: a socket for each resource, its list, calls and registration."""
