"""Floors 2 and 3: primitives, traces, tracers; jaxprs, their text and checks."""
