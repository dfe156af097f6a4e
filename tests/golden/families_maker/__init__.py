"""What make_families.py is made of: exact weights, both spellings of a configuration, the proof that every term is visible, the GGUF twin
and the families themselves as data."""
