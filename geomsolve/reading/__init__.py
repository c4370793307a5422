"""Text and files to plain values, each with its place."""
