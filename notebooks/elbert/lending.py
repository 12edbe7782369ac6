# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Stand-in for lending
#
# $$ b = \max_g z_g - \min_g z_g $$ (eq-lending)

# %% tags=["parameters"]
profile = "book"

# %% tags=["nbval-ignore-output"]
import pandas as pd
from matplotlib.figure import Figure as Drawing

from longfair.figures import Figure, show

drawing = Drawing(figsize=(7, 4))
_ = drawing.subplots().plot([1, 2, 3])
figure = Figure(drawing, "A straight line from 1 to 3.", pd.DataFrame({"x": [1, 2, 3]}))
show(figure, "A caption, in words.", name="line")

# %% tags=["nbval-check-output"]
pd.DataFrame({"method": ["G-PPO"], "bias": [0.2]})
