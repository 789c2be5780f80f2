"""Tables 2 to 6 of the Live Video Captioning paper for any set of predictions files, in both readings."""
