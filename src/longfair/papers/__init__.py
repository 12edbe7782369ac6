"""What was claimed: per paper the experiments, the claims and the executable checks."""
