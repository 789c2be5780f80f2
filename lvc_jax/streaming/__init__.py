"""The causal step that carries state across segments, and what runs it."""
