"""The kubelet's side of a node agent: Unix sockets, the services on them, and who holds which device."""
