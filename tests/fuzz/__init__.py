"""Random programs over the whole op table: eager against compiled, fused against unfused."""
