"""Random draws: the generator, distributions, and the bounds they are drawn within. The bits come
from `ops/random.py`.
"""
