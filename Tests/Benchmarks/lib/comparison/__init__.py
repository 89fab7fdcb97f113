"""The parts of `compare`."""
