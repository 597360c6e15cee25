"""What trees of arrays are made of: which objects are opened, when two of them are the same, and
what one tree has for the arrays of another. `core/tree.py` is what others call.
"""
