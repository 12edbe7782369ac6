"""Long-term fairness in sequential decision making."""
