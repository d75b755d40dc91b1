"""Decoders and readers, with samples of what they read: for damaged frames and files."""
