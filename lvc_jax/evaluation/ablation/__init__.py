"""The ablation of figure 12 of the Live Video Captioning paper, trained and scored on data that is at hand."""
