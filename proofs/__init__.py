"""Programs that check properties for which the tests have no time: `make proofs`."""
