"""Programs that run in the guest, each as ``python -m guest.inside.<name>``, as root."""
