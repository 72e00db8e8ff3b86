"""Programs of read questions against those that the demo world wrote for the same questions."""

from PIL import Image
from vlmdx.datasets.gqa_program import checked, operation, split_argument, terminal
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import sample_scene, scene_graph
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.program import primitives, program
from vlmdx.discovery.roles import Question

BLANK = Image.new("RGB", (8, 8))


def read_all(scenes):
    oracle = Oracle({scene.image_id: scene_graph(scene) for scene in scenes})
    for scene in scenes:
        for made, asked in ask(0, scene, 12):
            question = Question(scene.image_id, BLANK, asked.text)
            if oracle.validity([question])[0].valid:
                yield made, asked, *oracle.run(question)


def named(steps):
    return {i for step in steps for i in split_argument(step["argument"])[1]}


def test_same_operation_and_objects_as_the_demo_worlds_own_program():
    seen = set()
    for made, asked, query, executed in read_all([sample_scene(0, index) for index in range(80)]):
        steps = checked(program(query, executed))
        assert operation(steps) == made == operation(_steps(asked)), asked.text
        seen.add(asked.kind)
        if asked.answer != "no":  # of what is not there, each names its own
            own = named(_steps(asked))
            assert named(steps) <= own and (named(steps) == own or made == "relate"), asked.text
        assert terminal(steps)["operation"].split()[0] == asked.steps[-1][0].split()[0]
    assert len(seen) > 12


def _steps(asked):
    return [{"operation": o, "dependencies": d, "argument": a} for o, d, a in asked.steps]


def test_primitives_say_what_a_question_needs():
    scene = sample_scene(0, 0)
    oracle = Oracle({scene.image_id: scene_graph(scene)})
    read = oracle.read
    assert primitives(read("How many red objects are there?")) == ("count", "pick out by color")
    assert primitives(read("What color is the object to the left of the circle?")) == (
        "answer an open question",
        "find by relation: left from right",
        "recognise a named thing",
        "see color",
    )
    assert "tell above from below" in primitives(read("Is the circle above or below the square?"))
    assert "compare two things" in primitives(read("Do the circle and the square have different sizes?"))
