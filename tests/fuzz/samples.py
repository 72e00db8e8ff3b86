"""One good source of every importer, small: what is then changed."""

JSON_LINE = {
    "image": "a.png",
    "question": "What?",
    "options": ["cat", "dog", "owl"],
    "answer": 0,
    "id": "one",
    "category": "k",
    "operation": "verify",
    "program": [{"operation": "select", "dependencies": [], "argument": "cat (1)"}],
    "objects": [{"object_id": "1", "name": "cat", "x": 1, "y": 1, "w": 4, "h": 4}],
}
BLINK_LINE = {
    "idx": "v1",
    "image": "a.png",
    "question": "?",
    "choices": ["yes", "no"],
    "answer": "(A)",
    "sub_task": "s",
}
VSR_LINE = {"image": "000000000001.jpg", "caption": "The cat is under the car.", "label": 1, "relation": "under"}
COCO = {
    "images": [{"id": n, "file_name": f"00000000000{n}.jpg", "width": 18, "height": 14} for n in (1, 2)],
    "annotations": [
        {"id": 7, "image_id": 1, "category_id": 1, "bbox": [1, 2, 5, 6], "iscrowd": 0},
        {"id": 8, "image_id": 1, "category_id": 2, "bbox": [3, 1, 5, 6]},
        {"id": 9, "image_id": 2, "category_id": 3, "bbox": [3, 1, 5, 6]},
    ],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "car"}, {"id": 3, "name": "bed"}],
}
SEED = {
    "questions": [
        {
            "question_id": f"{n}",
            "data_id": "a.png",
            "question": "?",
            "answer": "B",
            "question_type_id": 1,
            "data_type": "image",
            **{f"choice_{c}": f"word {c}{n}" for c in "abcd"},
        }
        for n in range(2)
    ],
    "question_type": {"Scene": 1},
}
GQA_QUESTIONS = {
    f"q{n}": {
        "question": "What color is the bed?",
        "imageId": "i1",
        "answer": color,
        "semantic": [
            {"operation": "select", "dependencies": [], "argument": "bed (11)"},
            {"operation": "query", "dependencies": [0], "argument": "color"},
        ],
        "types": {"semantic": "attr", "structural": "query", "detailed": "color"},
        "annotations": {"question": {"4": "11"}, "answer": {}, "fullAnswer": {}},
    }
    for n, color in enumerate(("red", "blue", "green"))
}
GQA_GRAPHS = {
    "i1": {
        "width": 18,
        "height": 14,
        "objects": {"11": {"name": "bed", "x": 1, "y": 1, "w": 9, "h": 9, "attributes": ["red"], "relations": []}},
    }
}
