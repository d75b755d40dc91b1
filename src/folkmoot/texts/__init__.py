"""Answers that are texts: members propose, then choose among what was proposed."""
