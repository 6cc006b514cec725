"""Nodes that say nothing any more, what that means for their pods, and pods that no node has."""
