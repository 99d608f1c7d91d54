"""TOML files as typed structures: read with a line for every fault, explained by templates and schemas."""
