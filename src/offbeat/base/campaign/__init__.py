"""Work in steps that can be killed at any moment and resumed: its directory, lock, records and progress.

Studies, clock checks and trials stand on it; :mod:`offbeat.base.campaign.directory` says how a campaign is
built.
"""
