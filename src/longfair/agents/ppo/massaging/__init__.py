"""Action massaging: what F-PPO changes between the choice of an action and its execution.

One file per case study. Each rule is a pure function of a batch, and a strategy that applies it;
`acting` applies a strategy to a policy that no longer learns.
"""
