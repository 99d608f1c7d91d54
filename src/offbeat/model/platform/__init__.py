"""The machine that is simulated: its nodes, links and costs, and where the ranks sit."""
