"""First and second derivatives of elementwise functions, compared with mpmath.

Next: table.py, the functions; reference.py, which records; __main__.py, which compares.
"""
