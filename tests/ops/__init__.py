"""Ops where they are easily wrong; `table` has what holds for all of them."""
