"""What it takes to change an answer: proofs and attacks, a module per family of methods."""
