"""The images that the cluster runs, made from root folders without a container engine."""
