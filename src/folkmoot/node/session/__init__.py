"""A motion as state machines without sockets, clocks, threads and files: polls, and the agreement in them."""
