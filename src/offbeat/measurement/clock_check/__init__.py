"""How accurately processes start by the shared clock: the settings, rows and summary of a check."""
