"""Files: tables of votes and of inputs, saved models, and writing that outlives a crash."""
