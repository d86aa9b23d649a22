"""What the files of a model must hold, looked at before the engine gets them: it starts with many that are broken."""
