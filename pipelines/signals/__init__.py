"""Model ports, prompts and what is computed with them."""
