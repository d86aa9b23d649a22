"""The process around the reconciles: its command line, who leads, its start-up checks, probes, metrics and logs."""
