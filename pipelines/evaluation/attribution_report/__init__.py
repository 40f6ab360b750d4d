"""Pages on who taught wrong answers and which sources are blamed, of the stream and of studies."""
