"""Floor 10: tools that look at programs from outside, and the `jax` alias."""
