"""The parts of an InferenceModel's spec, one module each; `arriero_api.types` puts them together."""
