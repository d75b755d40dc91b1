"""Frames between nodes besides those of a session, and inputs."""
