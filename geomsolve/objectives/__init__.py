"""F on cosines: the machinery that losses are made of.  Value, gradient, curvature, cone form."""
