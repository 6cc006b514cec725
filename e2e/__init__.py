"""What runs against a real cluster: the cluster itself, its images, and the scenarios."""
