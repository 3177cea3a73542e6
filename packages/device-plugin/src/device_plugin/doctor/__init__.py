"""`nvidia-device-plugin doctor`: looks at a node without changing it, and says what keeps GPUs from being served."""
