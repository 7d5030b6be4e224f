"""The models: dataclasses of settings with a `fit` method."""
