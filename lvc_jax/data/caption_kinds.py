"""Where the captions of each data set come from; apart from the builders, which need TFDS."""

CAPTION_KINDS = {
    "activitynet_captions": "human captions",
    "clips": "captions of the annotation file",
    "fifty_salads": "verbalised labels",
    "moving_shapes": "synthetic",
    "youcook2": "human captions",
}
"""By name of the data set."""
