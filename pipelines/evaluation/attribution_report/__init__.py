"""Pages on who taught wrong answers and which sources lie, of the stream and of studies."""
