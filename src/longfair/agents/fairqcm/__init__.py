"""Who remembers: FairQCM and the agents it is compared with, tabular and deep."""
