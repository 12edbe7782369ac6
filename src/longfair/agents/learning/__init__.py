"""What families of learning agents share.

============== ==============================================================
`adam`         the one optimiser, on plain arrays
`flat`         all parameters of a torch module as one vector
`actor`        a stochastic policy network that acts without torch
`schedules`    settings that change while learning, and can be written down
`seeding`      first weights that follow from a seed alone
`saving`       models as plain arrays and JSON, and generators' states
`observations` what `predict` takes
`spaces`       the spaces an agent was made for, kept with it
============== ==============================================================

Nothing is imported here: take what you need from its module.
"""
