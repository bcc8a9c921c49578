"""The command line: a whole process by the clock, on the processor, and its memory: goal 18."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.small import ROOT

from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

TURNS = 5
COMMANDS = {  # arguments, seconds, MB
    "rag --help": (["--help"], 0.6, None),
    "rag strategies": (["strategies"], 0.6, None),
    "rag query … --strategy bm25": (["query", "When is anti-D given?", "--strategy", "bm25"], 2.0, 300),
    "rag query … --strategy ensemble": (
        ["query", "When is anti-D given?", "--strategy", "ensemble"],
        3.0,
        450,
    ),
}


class Ran(NamedTuple):
    """Seconds by the clock and on the processor, and the most MB in memory."""

    wall: float
    processor: float
    memory: float


# In between stands a small process: Linux counts the memory of whoever starts a program as the program's own.
LAUNCH = """
import json, os, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def run(arguments: list[str], home: Path) -> Ran:
    """Run the command, as getrusage sees it."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCH, sys.executable, "-m", "rag_core", *arguments],
        cwd=ROOT,
        env={**os.environ, "RAG_HOME": str(home), "RAG_LLM": "offline"},
        stdout=subprocess.PIPE,
        check=True,
    )
    code, *used = json.loads(done.stdout)
    assert code == 0
    return Ran(*used)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(name, real_home, results):
    arguments, seconds, memory = COMMANDS[name]
    open_lab(settings=Settings(home=real_home, llm="offline"))
    run(arguments, real_home)  # from now on the disk's cache has its files
    runs = [run(arguments, real_home) for _ in range(TURNS)]
    results.goal(18, f"`{name}`", "", [one.wall for one in runs], seconds, "s")
    results.note(f"{name}, on the processor", "s", [one.processor for one in runs])
    if memory:
        results.goal(18, f"`{name}`, memory", "", [one.memory for one in runs], memory, "MB")
    else:
        results.note(f"{name}, memory", "MB", [one.memory for one in runs])
