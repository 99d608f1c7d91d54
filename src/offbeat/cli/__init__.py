"""The commands: one thin file a verb; no logic of their own."""
