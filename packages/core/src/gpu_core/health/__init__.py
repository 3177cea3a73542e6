"""Which GPUs and MIG devices are healthy, why not, and what is said of it. Pure; it knows no kubelet's Device."""
