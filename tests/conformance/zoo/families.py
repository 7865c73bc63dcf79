# SPDX-License-Identifier: GPL-3.0-or-later
"""Every architecture of transformers with a small configuration and random weights, and some models of each file of timm: entries by the
hundred, for a run by hand (`zoo.py --entries families.py`). What a shrunken configuration does not fit is reported as eager's own error."""

import inspect

import shims

shims.install()

import torch  # noqa: E402
from case import Case, entries_of  # noqa: E402

ENTRIES, MISSING, entry = entries_of()
MOST_PARAMETERS = 60_000_000
TOKENS, BATCH = 7, 2

# Sizes of a small model by the names that configurations give them.
SMALL = {
    32: "hidden_size d_model dim embed_dim n_embd emb_dim embedding_size decoder_hidden_size word_embed_proj_dim projection_dim encoder_hidden_size "
        "hidden_dim embedding_dim n_embed image_size",
    2: "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers num_encoder_layers num_blocks "
       "decoder_num_hidden_layers num_key_value_heads num_experts_per_tok",
    4: "num_attention_heads n_head n_heads encoder_attention_heads decoder_attention_heads decoder_num_attention_heads num_experts num_local_experts "
       "n_routed_experts",
    64: "intermediate_size ffn_dim n_inner d_ff encoder_ffn_dim decoder_ffn_dim dim_feedforward feed_forward_hidden_size moe_intermediate_size "
        "decoder_intermediate_size shared_expert_intermediate_size mlp_hidden_size max_position_embeddings n_positions max_source_positions "
        "max_target_positions n_ctx",
    128: "vocab_size",
    8: "d_kv patch_size",
    16: "q_lora_rank kv_lora_rank num_queries sliding_window",
    1: "n_group topk_group n_shared_experts",
}
SIZES = {name: size for size, names in SMALL.items() for name in names.split()}
IDS = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1, "decoder_start_token_id": 2}
WITHOUT_CACHE = "bamba jamba granitemoehybrid recurrent_gemma zamba zamba2".split()


def shrink(config, depth=0):
    """Makes a configuration and those inside it small, in place."""
    low_rank = hasattr(config, "kv_lora_rank")
    for name, value in list(vars(config).items()):
        number = isinstance(value, int) and not isinstance(value, bool)
        if hasattr(value, "model_type") and depth < 4:
            shrink(value, depth + 1)
        elif name == "num_key_value_heads" and (value is None or number):
            config.num_key_value_heads = 4 if low_rank else 2
        elif name == "head_dim" and not low_rank and (value is None or number):
            config.head_dim = 8
        elif number and value > SIZES.get(name, value):
            setattr(config, name, SIZES[name])
        elif number and value > 100 and name in IDS:
            setattr(config, name, IDS[name])
        elif number and value > 127 and name.endswith(("token_id", "token_index")):
            setattr(config, name, 120)
        elif name == "layer_types" and isinstance(value, list):
            kinds = list(dict.fromkeys(value)) * 2
            config.layer_types = kinds[: getattr(config, "num_hidden_layers", 2)]
        elif name == "depths" and isinstance(value, (list, tuple)):
            config.depths = type(value)([1] * len(value))
    return config


def side_of(config):
    side = getattr(config, "image_size", None) or 64
    if isinstance(side, dict):
        return side["height"], side["width"]
    return (side[0], side[-1]) if isinstance(side, (list, tuple)) else (side, side)


def inputs_of(model, config):
    """Keyword arguments by the names of the forward's parameters."""
    names = inspect.signature(model.forward).parameters
    vision = getattr(config, "vision_config", None) or config
    vocabulary = min(getattr(getattr(config, "text_config", None) or config, "vocab_size", 100) or 100, 100)
    bins = getattr(config, "num_mel_bins", 80) or 80
    height, width = side_of(vision)
    channels = getattr(vision, "num_channels", 3) or 3
    whole = {
        "input_ids": lambda: torch.randint(3, vocabulary, (BATCH, TOKENS)),
        "pixel_values": lambda: torch.randn(BATCH if "input_ids" in names else 1, channels, min(height, 224), min(width, 224)),
        "input_values": lambda: torch.randn(1, 4000),
        "input_features": lambda: torch.randn(1, bins, 128) if config.model_type == "whisper" else torch.randn(1, 64, bins),
        "decoder_input_ids": lambda: torch.randint(3, vocabulary, (BATCH if "input_ids" in names else 1, 5)),
    }
    if "input_ids" in names:
        whole["attention_mask"] = lambda: torch.ones(BATCH, TOKENS, dtype=torch.long)
        whole["bbox"] = lambda: torch.randint(0, 30, (BATCH, TOKENS, 4)).sort(-1).values
    given = {name: make() for name, make in whole.items() if name in names}
    if not given:
        raise ValueError("its inputs are not known: " + ", ".join(list(names)[:4]))
    if config.model_type in WITHOUT_CACHE:
        given["use_cache"] = False
    return given


def sized(model):
    count = sum(p.numel() for p in model.parameters())
    if count > MOST_PARAMETERS:
        raise ValueError(f"{count} parameters")
    return model.eval()


def architecture(kind, auto):
    def build():
        import transformers
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        transformers.logging.set_verbosity_error()
        config = shrink(CONFIG_MAPPING[kind]())
        model = sized(getattr(transformers, auto).from_config(config).float())
        return Case(model, (), inputs_of(model, config))

    return build


def timm_model(name):
    def build():
        import timm

        model = sized(timm.create_model(name, pretrained=False))
        side = model.default_cfg["input_size"][-1] if model.default_cfg.get("fixed_input_size") else 96
        return Case(model, (torch.randn(1, 3, side, side),))

    return build


def register():
    try:
        from transformers.models.auto import modeling_auto as tables
    except ImportError:
        MISSING["transformers"] = "transformers"
    else:
        for mapping, auto in (("CAUSAL_LM", "AutoModelForCausalLM"), ("SEQ_TO_SEQ_CAUSAL_LM", "AutoModelForSeq2SeqLM"), ("MASKED_LM", "AutoModelForMaskedLM"), ("", "AutoModel")):
            for kind in getattr(tables, f"MODEL_FOR_{mapping}_MAPPING_NAMES" if mapping else "MODEL_MAPPING_NAMES"):
                ENTRIES.setdefault("hf:" + kind.replace("-", "_"), architecture(kind, auto))
    try:
        import timm
        from timm.models import _registry
    except ImportError:
        MISSING["timm"] = "timm"
        return
    files = {}
    for name in timm.list_models():
        files.setdefault(_registry._model_to_module[name], []).append(name)
    small = ("tiny", "nano", "atto", "pico", "femto", "_xs", "small", "_s", "18", "b0", "_t")
    for names in files.values():
        for name in sorted(names, key=lambda n: (not any(word in n for word in small), len(n)))[:3]:
            ENTRIES["timm:" + name] = timm_model(name)


register()
