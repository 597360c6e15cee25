"""Values that stand beside Tensors in a program: Python numbers that are known at call time,
constants, complex pairs, and the arrays of other libraries.
"""
