"""Programs that prove what the tests have no time for; `make proofs` runs them."""
