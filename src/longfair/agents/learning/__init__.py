"""What families of learning agents share.

============ ==============================================================
`adam`       the one optimiser, on plain arrays
`flat`       all parameters of a torch module as one vector
`actor`      a stochastic policy network that acts without torch
`schedules`  settings that change while learning, and can be written down
`saving`     models as plain arrays and JSON, and generators' states
============ ==============================================================

Nothing is imported here: take what you need from its module.
"""
