"""Uploads as background jobs: progress, consent, stopping, and what became of each file."""

import dataclasses

import pytest
from helpers.behaviours import Reply, Status
from helpers.openai_server import OpenAIServer
from pydantic import SecretStr

from rag_core.indexing import Upload, UploadFolder
from rag_core.jobs import Jobs, start_adding
from rag_core.lab.corpora import corpus_names
from rag_core.lab.engines import Engines
from rag_core.lab.lab import Lab
from rag_core.models import load_embedder
from rag_core.values.errors import ConfigError
from rag_core.values.settings import Settings

SOON = 60.0  # seconds; the machine may be busy
VISITS = Upload("visits.md", b"# Visits\n\nVisiting hours on the ward are from 2 to 8.")
BAD = Upload("bad.exe", b"MZ")


@pytest.fixture
def paid(lab: Lab, settings: Settings, server: OpenAIServer) -> tuple[Settings, Engines]:
    """The lab's models, but embeddings of a provider with a price."""
    priced = settings.model_copy(
        update={
            "embedding": "openai:text-embedding-3-small",
            "openai_api_key": SecretStr("key"),
            "openai_base_url": server.url,
        }
    )
    return priced, dataclasses.replace(lab.engines, embedder=load_embedder(priced, lab.engines.prices))


def test_a_job_says_what_became_of_each_file(lab, settings):
    job = start_adding(Jobs(), lambda: lab.engines, settings, [VISITS, BAD], "ward")
    assert job.wait(SOON)
    assert job.status.phase == "done"
    assert [(one.name, one.status) for one in job.status.files] == [
        ("visits.md", "added"),
        ("bad.exe", "failed"),
    ]
    assert corpus_names(settings.home) == ["obstetrics", "ward"]


def test_the_reserved_name_starts_nothing(lab, settings):
    jobs = Jobs()
    with pytest.raises(ConfigError, match="belongs to the built-in documents"):
        start_adding(jobs, lambda: lab.engines, settings, [VISITS], "obstetrics")
    assert jobs.all() == []


def test_texts_that_the_embedding_model_does_not_read_to_their_end_are_counted(lab, settings, phase, server):
    long = Upload("long.txt", b"dogs bark " * 90)
    server.choose = lambda body: (
        Status(400, "maximum context length") if any(len(text.split()) > 100 for text in body["input"]) else Reply()
    )
    local = settings.model_copy(update={"embedding": "openai:my-local-model", "openai_base_url": server.url})
    engines = dataclasses.replace(lab.engines, embedder=load_embedder(local, lab.engines.prices))
    job = start_adding(Jobs(), lambda: engines, local, [VISITS, long], "ward")
    assert phase.wait(SOON)
    job.agree(job.status.bill)
    assert job.wait(SOON)
    assert job.status.phase == "done", job.status
    assert job.status.unread.startswith("1 of 2 texts were longer than the model reads")


@pytest.mark.parametrize("agreed", [True, False])
def test_paid_embeddings_wait_for_consent(paid, phase, *, agreed):
    settings, engines = paid
    job = start_adding(Jobs(), lambda: engines, settings, [VISITS], "ward")
    assert phase.wait(SOON)
    assert job.status.phase == "asking", job.status
    assert job.status.billed == "Embedding the documents"
    assert job.status.bill.calls["embed"] >= 1
    if agreed:
        job.agree(job.status.bill)
    else:
        job.stop()
    assert job.wait(SOON)
    assert job.status.phase == ("done" if agreed else "stopped"), job.status
    assert UploadFolder(settings.home, "ward").names == (["visits.md"] if agreed else [])
