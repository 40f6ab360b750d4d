"""What a service lets attackers learn and do under each policy, and what that costs readers."""
