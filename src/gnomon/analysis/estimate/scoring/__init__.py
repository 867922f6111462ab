"""Scoring of models on counter series of which all but one event a row are hidden."""
