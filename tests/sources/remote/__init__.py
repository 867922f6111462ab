"""The probe and its viewer."""
