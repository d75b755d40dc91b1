"""Participants on machines of their own: who they are, what they run, and how they talk."""
