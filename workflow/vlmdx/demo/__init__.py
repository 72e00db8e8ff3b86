"""The demo world: seeded scenes in GQA's own file format, and the two tiny VLMs that are trained on them."""
