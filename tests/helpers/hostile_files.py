"""A folder of files that attack their reader, beside twenty good ones; and what must be said of each."""

import json
import os
import zipfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

from .source_files import docx, write, xlsx

GOOD = 20
HEADER = "id: {id}\ntitle: T\nlanguage: en\ntopic: labour\nsources:\n- {{organisation: O, title: T, year: 2020}}\n"


def front_matter(more: str = "", identity: str = "x") -> str:
    """A document with the collection's header and more of it."""
    return f"---\n{HEADER.format(id=identity)}{more}\n---\n# T\n\nRest and drink enough.\n"


def alias_bomb(levels: int = 9) -> str:
    """Lists of lists of the same list: a few hundred bytes that are gigabytes when written out."""
    lines = ["a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    bomb = "\n".join(lines)
    return f"---\n{bomb}\n{HEADER.format(id=f'*a{levels - 1}')}---\nRest.\n"


def zip_bomb(part: str, megabytes: int) -> bytes:
    """An archive of one part of spaces, which shrink a thousandfold."""
    content = BytesIO()
    with (
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(part, "w") as file,
    ):
        for _ in range(megabytes):
            file.write(b" " * 1_000_000)
    return content.getvalue()


def billion_laughs() -> bytes:
    """A Word document whose entities multiply."""
    entities = '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("word/document.xml", f"<!DOCTYPE d [{entities}]><d>&a9;</d>")
    return content.getvalue()


# name -> (content, or what makes it if that takes seconds; what the reason says, empty if the file is to be indexed)
FILES: dict[str, tuple[str | bytes | Callable[[], bytes], str]] = {
    "aliases.md": (alias_bomb(), "more than 16 aliases"),
    "archive.docx": (partial(zip_bomb, "word/document.xml", 201), "unpacks to more than 200 MB"),
    "archive.xlsx": (partial(zip_bomb, "xl/sharedStrings.xml", 201), "unpacks to more than 200 MB"),
    "brackets.jsonl": (
        f'{{"_id": "b", "text": {"[" * 100_000}',
        "line 1: lists or objects are nested too deeply",
    ),
    "deep.html": ("<div>" * 10_000 + "Deep words." + "</div>" * 10_000, ""),
    "digits.jsonl": (
        f'{{"_id": {"9" * 5_000}, "text": "words"}}',
        "line 1: a number has more than 4,300 digits. Fix",
    ),
    "digits.md": (front_matter(f"n: {'9' * 5_000}", "digits"), "a number has more than 4,300 digits"),
    "empty.pdf": (b"", "the file is empty"),
    "entities.docx": (billion_laughs(), "multiplies itself when it is opened; open it in Word"),
    "header.md": (front_matter(f"n: {'x' * 100_000}", "header"), "front matter is longer than 64,000"),
    "mac.txt": ("café".encode("mac-roman"), "its encoding is none of UTF-8, UTF-16 and Windows-1252"),
    "lines.txt": ("\n".join(f"{n} words" for n in range(2_000)), ""),
    "long-id.jsonl": (json.dumps({"_id": "i" * 5_000, "text": "words"}), "_id is longer than 500"),
    "long-title.md": (f"# {'Title ' * 100_000}\n\nWords below a long title.", ""),
    "nested.md": (front_matter(f"n: {'[' * 50_000}", "nested"), "nests lists more than 100"),
    "punctuation.txt": ("?!" * 3_000, ""),
    "rows.csv": ("text\n" + "words\n" * 100_001, "more than 100,000 rows"),
    "sibling.html": ("<p>Words." * 5_000, ""),
    "truncated.docx": (docx("Words.")[:60], "open it in Word and save it again"),
    "truncated.xlsx": (xlsx(Rows=[["text"], ["Words."]])[:900], "open it in Excel and save it again"),
    "unbroken.txt": ("a" * 200_000, ""),
    "vast.txt": (b"word " * 4_000_001, "more than 20,000,000 characters"),
}
SKIPPED = {
    "back": "the link leads back to a folder it is in",
    "broken.txt": "a link to nothing",
    "device.txt": "the link leads outside the folder",
    "outside.txt": "the link leads outside the folder",
    "pipe.txt": "a named pipe, not a file",
    "second.txt": "the same as good-0.txt",
    "twin": "a link to cross",
    "cross/loop": "the link leads back to a folder it is in",
    "cross/other": "a link to crossed",
    "crossed/other": "a link to cross",
}


def hostile_folder(root: Path) -> Path:
    """The folder itself; `root` also gets a file that its links must not reach."""
    contents = {name: content() if callable(content) else content for name, (content, _) in FILES.items()}
    folder = write(root / "documents", contents)
    write(
        folder,
        {f"good-{n}.txt": f"Good advice number {n}: rest and drink enough water." for n in range(GOOD)},
    )
    write(folder, {"cross/a.txt": "Words found once.", "crossed/b.txt": "Other words found once."})
    write(root, {"secret.txt": "A secret outside."})
    for name, target in {
        "back": folder, "broken.txt": "nowhere", "device.txt": "/dev/zero", "outside.txt": "../secret.txt",
        "twin": "cross", "cross/loop": ".", "cross/other": "../crossed", "crossed/other": "../cross",
    }.items():  # fmt: skip
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.txt")
    os.link(folder / "good-0.txt", folder / "second.txt")
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("Words under a name that is no text.")
    return folder
