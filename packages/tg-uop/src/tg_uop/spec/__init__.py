"""What each form of the graph may contain, and the verifier that checks it."""
