"""A kubelet stand-in and the demonstration of the GPU programs; part of no image."""
