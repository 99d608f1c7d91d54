"""Traces for other tools: Perfetto, Parquet, CSV and OTF2."""
