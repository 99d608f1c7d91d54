"""From results to a choice: statistics, rules, robustness, and what a choice costs."""
