"""Pure decisions: what is accepted, who holds a name, which revisions stay, what the conditions say."""
