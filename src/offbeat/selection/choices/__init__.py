"""From results to choices: delay tables, selection rules, robustness, confidence."""
