"""Steps that several processes share: micro-batches, what each rank computes, and the exchange."""
