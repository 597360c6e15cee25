"""Other readings of the same calls: recording (trace), replaying, reverse (tape) and forward
derivatives, many examples at once (batched).
"""
