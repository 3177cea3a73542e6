"""What a container is given for the devices that the kubelet chose."""
