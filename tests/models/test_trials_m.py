"""M10 for every supported family: exactly one BOS where the model uses one, none where it does not."""

from tests.models.tiny import picture


def test_m10_one_bos_or_none_at_the_front_of_every_familys_prompt(every):
    tokenizer = every.processor.tokenizer
    prompt = every.render("what color is the dog")
    ids = every.encode(prompt, picture(60, 60)).tolist()
    bos = tokenizer.bos_token_id
    added = bos is not None and tokenizer("dog")["input_ids"][:1] == [bos]
    written = bos is not None and prompt.removeprefix(every.processor.image_token).startswith(tokenizer.bos_token)
    # PaliGemma's prompt starts with the image tokens, its BOS stands behind them.
    for given in (ids, every.encode_text(prompt)):
        text = [token for token in given if token != every.image_token_id]
        leading = next((k for k, token in enumerate(text) if token != bos), len(text))
        assert leading == (1 if added or written else 0), tokenizer.convert_ids_to_tokens(text[:4])
