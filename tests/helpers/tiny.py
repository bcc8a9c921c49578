import string
from pathlib import Path


def tiny_model(folder: Path, seed: int) -> Path:
    """A sentence-transformers model of letters, with random weights, 32 dimensions."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = string.ascii_lowercase
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    torch.manual_seed(seed)
    bert = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    parts = folder.with_name(f"{folder.name}-parts-{seed}")
    BertModel(bert).save_pretrained(parts)
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(parts)
    SentenceTransformer(modules=[Transformer(str(parts)), Pooling(32)], device="cpu").save(str(folder))
    return folder
