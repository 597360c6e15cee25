"""Many steps over batches of data, and what is known of them afterwards."""
