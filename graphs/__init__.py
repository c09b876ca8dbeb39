"""The loop as a LangGraph graph, starting and resuming it, and ready-made graphs."""
