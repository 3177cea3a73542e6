"""Runs the CUDA MPS control daemons that let pods share GPUs with limits."""
