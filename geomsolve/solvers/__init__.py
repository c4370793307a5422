"""Three ways to one answer; each is judged by the same certificate."""
