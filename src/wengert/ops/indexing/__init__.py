"""x[key] and x.at[key] with NumPy's meaning. The ops that they end in are those of `ops/index.py`
and of slicing.
"""
