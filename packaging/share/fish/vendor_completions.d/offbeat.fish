# Completion of offbeat in fish: typer's own, which 'offbeat' prints when a Tab first needs it.
_OFFBEAT_COMPLETE=source_fish offbeat | source
