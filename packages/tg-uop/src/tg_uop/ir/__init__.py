"""The intermediate representation: interned nodes and what is known about each."""
