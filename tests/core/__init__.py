"""What ops, types, graphs and programs are made of, and how the package is loaded."""
