"""What calls may be given: arguments as they are declared, shapes as users write them, the keywords
of the array API standard, and matrices.
"""
