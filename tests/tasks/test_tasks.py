"""The registry of tasks: configurations that are cheap to import, and models that import them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import strukt
from strukt.tasks import TASKS

FOLDER = Path(strukt.__file__).parent / "tasks"
PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"

# Without site packages nothing is preloaded by the environment; the package itself has to be found.
PATHS = f"import sys; sys.path[:] = {sys.path!r}; "


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_a_folder_with_a_configuration_and_a_model(name):
    config, model = TASKS[name].config_class(), TASKS[name].model_class()
    assert (config.__module__, model.__module__) == (
        f"strukt.tasks.{name}.config",
        f"strukt.tasks.{name}.model",
    )
    assert model.task == name
    assert config.summary
    assert "text" in config.readers


def test_every_folder_is_a_task():
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert folders - set(TASKS) == {"common"}


def test_configurations_import_nothing_heavy():
    heavy = "{'torch', 'numba', 'lightning', 'jsonargparse', 'rich', 'numpy'}"
    code = f"""
from strukt.tasks import TASKS
for task in TASKS.values():
    task.config_class()
print(sorted({heavy} & set(sys.modules)))
"""
    found = subprocess.run(
        [sys.executable, "-S", "-c", PATHS + code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_the_table_of_tasks_is_that_of_the_registry():
    rows = [
        f"| `{name}` | `{task.model_class().__name__}` | {task.config_class().summary} |"
        for name, task in TASKS.items()
    ]
    assert "\n".join(["| task | model | predicts |", "|---|---|---|", *rows, ""]) in PAGE.read_text("utf-8")


def test_what_tasks_share_knows_no_task():
    for path in (FOLDER / "common").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        imported = re.findall(r"^ *(?:from|import) strukt\.tasks(?:\.| import )(\w+)", text, re.MULTILINE)
        assert {*imported} <= {"common"}, path
