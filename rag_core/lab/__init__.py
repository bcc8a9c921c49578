"""The lab: one corpus open for questions, its engines, the built-in collection, the doctor."""
