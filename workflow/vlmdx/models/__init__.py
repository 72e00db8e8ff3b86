"""Vision-language models behind one interface: `load.load` gives an adapter, one module per model family.

Kept empty of imports, so that `vlmdx.models.prompts` opens without torch.
"""
