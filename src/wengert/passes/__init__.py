"""Graph → Graph, one public function per file."""
