"""Linear algebra of Gram and distance matrices; numpy and scipy only."""
