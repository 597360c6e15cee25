"""What other libraries call what we have, who asks, and what to write instead."""
