"""What definitions of ops say besides the mathematics: how they broadcast, how they are called for
many examples, how large their results can be, and the samples that they are tested with.
"""
