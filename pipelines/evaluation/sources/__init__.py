"""What a ledger of sources is worth: a patient liar, judged with and without it."""
