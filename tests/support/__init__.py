"""What tests share: oracles, random parameters, real nodes, the prompt, a browser."""
