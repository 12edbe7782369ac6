"""F-PPO: short-term and long-term fairness in dynamic systems (Hu, Lear and Zhang 2024)."""
