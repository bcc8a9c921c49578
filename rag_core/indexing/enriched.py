"""The enriched index of a corpus: the passages of the plain index, with contexts."""

import shutil
from dataclasses import replace

from ..values.errors import IndexDamaged, IndexOutdated
from .enrich import OFFLINE, Enricher
from .folder import IndexFolder
from .manifest import Manifest
from .recovery import read_documents
from .store import CorpusIndex, generations
from .stores import drop_others
from .write_report import Progress, WriteReport, no_progress


class EnrichedStore(IndexFolder):
    """Takes its documents from the plain index, so damage to it loses nothing."""

    def follow(
        self,
        plain: CorpusIndex,
        enricher: Enricher,
        progress: Progress = no_progress,
        *,
        retry_missing: bool = False,
    ) -> WriteReport | None:
        """Update it to the plain index's documents; returns None when it was up to date.

        Args:
            retry_missing: also rewrite an up-to-date index in which some contexts failed.

        Raises:
            IndexBusy: another process is writing it.
            StorageError: the disk is full or the folder cannot be written.
        """
        if self._follows(plain, enricher, retry_missing)[0]:
            return None
        with self._writing() as bills:
            up_to_date, damage = self._follows(plain, enricher, retry_missing)
            if up_to_date:  # another process has just done it
                return None
            documents = list(read_documents(plain.generation).values())
            written = self._write(documents, progress, bills, enricher, chunking=plain.manifest.chunking)
            return replace(written, damage=damage)

    def sync_if_free(
        self, plain: CorpusIndex, offline: Enricher, progress: Progress = no_progress
    ) -> tuple[WriteReport | None, str]:
        """As `follow`, but only if the index exists and the update is free.

        Returns:
            What was written, and a message for the user; either can be empty.
        """
        kept = generations(self.folder)
        if not kept:
            return None, ""
        try:
            enricher = Manifest.read(kept[-1]).enricher
            if enricher.startswith(OFFLINE):
                return self.follow(plain, offline, progress), ""
            index = self.open()
        except IndexDamaged as error:
            return None, f"{error.message} To repair it, {self._command}."
        if index and self.is_current(index) and index.manifest.same_passages(plain.manifest):
            return None, ""
        made_by = enricher.partition("/")[0]
        return None, (
            f"The {self._what} was not updated, because {made_by} writes its contexts at a cost: "
            f"{self._command}."
        )

    def remove(self) -> None:
        """Delete it, if there is one.

        Raises:
            IndexBusy: another process is writing it.
            StorageError: the folder cannot be written.
        """
        if self.folder.is_dir():
            with self._writing():
                drop_others(self.stores, self.folder, ())
                shutil.rmtree(self.folder)
            self._opened = None

    @property
    def own_prompt(self) -> str:
        """The prompt in place of the standard one that its contexts were last written with; empty if there is none."""
        kept = generations(self.folder)
        try:
            return Manifest.read(kept[-1]).context_prompt if kept else ""
        except IndexDamaged:  # writing it anew reports the damage
            return ""

    @property
    def _command(self) -> str:
        return f"run `rag index PATH --corpus {self.corpus} --enrich`"

    def _follows(self, plain: CorpusIndex, enricher: Enricher, retry_missing: bool) -> tuple[bool, str]:
        """Whether it is up to date, and any damage found."""
        try:
            index = self.open()
        except IndexOutdated:
            return False, ""
        except IndexDamaged as error:
            return False, error.message
        if index is None or (retry_missing and index.manifest.without_context):
            return False, ""
        same = index.manifest.enricher == enricher.key and index.manifest.same_passages(plain.manifest)
        return same and self.is_current(index) and self.is_complete(index), ""
