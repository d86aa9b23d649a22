"""The process around the reconciles: its command line and wiring, who leads, start-up checks, probes, metrics, logs."""
