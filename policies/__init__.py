"""Everything that decides, and the records it decides on.

The law of this folder: pure functions and frozen records. No I/O, no clock, no LangGraph.
"""
