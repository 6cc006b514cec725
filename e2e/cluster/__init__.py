"""A real Kubernetes cluster for tests, built from published Go modules, without a container engine.

``python -m e2e.cluster up`` starts one; see the README beside this file for what it gives and where its logs are.
"""
