"""From a program to a faster program: prediction, trial, comparison, and a centre's knowledge base.

Offers: The pipeline of ``offbeat tune``, predicted run times, trials of choices and of delays, and the tuning
file of a site.
Stands on: ``base``, ``model``, ``libraries``, ``measurement``, ``selection``, ``trace``.
"""
