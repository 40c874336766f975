"""What doesn't belong to tensors, networks or optimizers: data loading, checkpointing and the like."""
