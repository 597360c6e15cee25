"""Models made of layers, for the benchmarks: sizes, data, and the loss in each library.

Parameters are a dictionary of arrays by the names that torch gives them, the same for every
library.
"""
