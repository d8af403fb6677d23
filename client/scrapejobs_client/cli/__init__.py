"""The command `scrapejobs`: the client for people and for pipes."""
