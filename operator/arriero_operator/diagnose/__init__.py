"""Pure diagnosis: from what Kubernetes and the runtime say to one reason with one remedy."""
