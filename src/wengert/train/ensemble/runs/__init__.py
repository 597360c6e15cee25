"""Many steps of an ensemble over batches of data: which rows each member is given, and how the
members go through them inside machine code.
"""
