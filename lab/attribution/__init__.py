"""How well attributors name the texts that taught a wrong answer."""
