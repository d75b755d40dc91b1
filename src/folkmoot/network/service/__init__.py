"""A node at work: the driver, the model, the doors, and all of it put together."""
