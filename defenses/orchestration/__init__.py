"""What guards a service that answers questions: signs of attacks, plans, trust. Pure methods."""
