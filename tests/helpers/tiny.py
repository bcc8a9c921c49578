"""Models of letters with random weights, 32 dimensions, 64 tokens long."""

import string
from pathlib import Path
from typing import Any


def letters(folder: Path, seed: int, **more: Any) -> Any:
    """A BertConfig whose tokenizer is saved in the folder; random weights are those of the seed."""
    import torch
    from transformers import BertConfig, BertTokenizerFast

    alphabet = string.ascii_lowercase
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *alphabet, *(f"##{letter}" for letter in alphabet)]
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64}
    return BertConfig(vocab_size=len(words), **sizes, **more)


def tiny_model(folder: Path, seed: int) -> Path:
    """A sentence-transformers model."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertModel

    parts = folder.with_name(f"{folder.name}-parts-{seed}")
    BertModel(letters(parts, seed, num_hidden_layers=1)).save_pretrained(parts)
    SentenceTransformer(modules=[Transformer(str(parts)), Pooling(32)], device="cpu").save(str(folder))
    return folder
