"""Where models come from: the hub, a claim, a folder of the image."""
