"""A Gemma 3 model of random weights in a GGUF file, and the same model for comparison."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, dequantize, quantize
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, set_seed

PIECES = [chr(i) for i in range(33, 127)] + [
    "▁",
    "▁B",
    "er",
    "▁O",
    "sl",
    "▁Osl",
    "n",
    "is",
    "▁is",
    "é",
]
SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>"]
BYTES = [f"<0x{i:02X}>" for i in range(256)]
EIGHT_BITS = GGMLQuantizationType.Q8_0
WIDTH, LAYERS, FEED, HEADS, HEAD = 64, 2, 96, 2, 32
NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def vocabulary() -> list[str]:
    return [*SPECIAL, *BYTES, *dict.fromkeys(PIECES)]


def original() -> Any:
    """The model before it becomes a file."""
    set_seed(5)
    config = Gemma3TextConfig(
        vocab_size=len(vocabulary()),
        hidden_size=WIDTH,
        intermediate_size=FEED,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        head_dim=HEAD,
        query_pre_attn_scalar=HEAD,
        sliding_window=512,
        max_position_embeddings=4096,
        initializer_range=0.3,
    )
    made = Gemma3ForCausalLM(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim == 1:
                weight += 0.5 * torch.randn_like(weight)  # norms that differ from none
    return made


def model() -> Any:
    """The model as the file holds it: matrices in eight bits, read in half precision."""
    made = original()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 1:
                read = dequantize(quantize(weight.numpy(), EIGHT_BITS), EIGHT_BITS)
                weight.copy_(torch.from_numpy(read).half())
    return made


def gguf_name(name: str) -> str:
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    _, _, number, rest = name.split(".", 3)
    return f"blk.{number}.{NAMES[rest.removesuffix('.weight')]}.weight"


def build(path: Path, chat_template: str | None = None) -> Path:
    """Write the model and a tokenizer to `path` and return it."""
    writer = GGUFWriter(path, "gemma3")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1_000_000.0)
    writer.add_sliding_window(512)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    words = vocabulary()
    kinds = [TokenType.CONTROL] * 3 + [TokenType.UNKNOWN] + [TokenType.BYTE] * 256
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([-float(i) for i in range(len(words))])
    writer.add_token_types([*kinds, *[TokenType.NORMAL] * (len(words) - len(kinds))])
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    for name, weight in original().named_parameters():
        values = weight.detach().numpy()
        if weight.ndim == 1:
            writer.add_tensor(gguf_name(name), (values + 1.0).astype(np.float32))
        else:
            packed = quantize(values, EIGHT_BITS)
            writer.add_tensor(gguf_name(name), packed, raw_dtype=EIGHT_BITS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
