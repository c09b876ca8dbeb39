"""The five nodes, and the narrow ports through which they reach the store, the model and the tools."""
