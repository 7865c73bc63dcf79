# SPDX-License-Identifier: GPL-3.0-or-later
"""32 models that people use, one or two of each family; `README.md` says which packages they come from."""

import importlib

import torch
import torch.nn.functional as F
from torch import nn

from case import Case, entries_of, pictures, tokens
from shims import install

install()
ENTRIES, MISSING, entry = entries_of()

VOCABULARY = 128
ENCODE = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
DECODE = dict(ENCODE, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
PATCHES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)


def transformer(kind, config=None, **settings):
    import transformers

    stem = config or kind.split("For")[0].removesuffix("LMHeadModel").removesuffix("Model")
    return getattr(transformers, kind)(getattr(transformers, stem + "Config")(**settings)).eval()


def words(**more):
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[0, -3:] = 0
    return dict(input_ids=tokens(2, 16, top=VOCABULARY), attention_mask=mask, **more)


# ---------------------------------------------------------------- transformers


@entry("transformers")
def hf_bert():
    return Case(transformer("BertModel", **ENCODE), kwargs=words())


@entry("transformers")
def hf_bert_train():
    return Case(transformer("BertForMaskedLM", **ENCODE).train(), kwargs=words(labels=tokens(2, 16)), train=True)


@entry("transformers")
def hf_gpt2():
    return Case(transformer("GPT2LMHeadModel", vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=64), kwargs=words(labels=tokens(2, 16)))


@entry("transformers")
def hf_llama():
    return Case(transformer("LlamaForCausalLM", **DECODE), kwargs=words())


@entry("transformers")
def hf_mixtral():
    return Case(transformer("MixtralForCausalLM", **DECODE, num_local_experts=4, num_experts_per_tok=2, output_router_logits=True), kwargs=words())


@entry("transformers")
def hf_t5():
    model = transformer("T5ForConditionalGeneration", vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4,
                        decoder_start_token_id=0)
    return Case(model, kwargs=words(labels=tokens(2, 6)))


@entry("transformers")
def hf_whisper():
    sides = {f"{side}_{what}": value for side in ("encoder", "decoder") for what, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 96))}
    model = transformer("WhisperModel", vocab_size=VOCABULARY, d_model=64, num_mel_bins=16, max_source_positions=32, max_target_positions=32,
                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **sides)
    return Case(model, kwargs=dict(input_features=torch.randn(2, 16, 64), decoder_input_ids=tokens(2, 6)))


@entry("transformers")
def hf_clip():
    model = transformer("CLIPModel", text_config=dict(ENCODE, eos_token_id=2, projection_dim=32),
                        vision_config=dict(PATCHES, projection_dim=32), projection_dim=32)
    return Case(model, kwargs=words(pixel_values=pictures(), return_loss=True))


@entry("transformers")
def hf_mamba():
    model = transformer("MambaForCausalLM", vocab_size=VOCABULARY, hidden_size=32, state_size=8, num_hidden_layers=2, use_mambapy=False, pad_token_id=0)
    return Case(model, kwargs=dict(input_ids=tokens(2, 12), use_cache=False))


# ---------------------------------------------------------------- pictures


def timm_model(name, side=64, **settings):
    import timm

    return Case(timm.create_model(name, pretrained=False, num_classes=10, **settings).eval(), (pictures(side),))


@entry("timm")
def timm_resnet18():
    return timm_model("resnet18")


@entry("timm")
def timm_resnet18_train():
    case = timm_model("resnet18")
    return Case(case.fn.train(), case.args, train=True)


@entry("timm")
def timm_mobilenetv3():
    return timm_model("mobilenetv3_small_050")


@entry("timm")
def timm_vit_tiny():
    return timm_model("vit_tiny_patch16_224", img_size=64, depth=3)


@entry("timm")
def timm_swin_tiny():
    return timm_model("swin_tiny_patch4_window7_224", side=56, img_size=56, depths=(2, 2, 2, 2))


@entry("torchvision")
def tv_resnet18():
    from torchvision.models import resnet18

    return Case(resnet18(weights=None, num_classes=10).eval(), (pictures(64),))


@entry("torchvision")
def tv_vit_b_16():
    from torchvision.models import VisionTransformer

    return Case(VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=96, num_classes=5).eval(), (pictures(),))


@entry("torchvision")
def tv_fasterrcnn():
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn as build

    model = build(weights=None, weights_backbone=None, num_classes=4, min_size=64, max_size=96)
    targets = [dict(boxes=torch.tensor([[4.0, 5.0, 40.0, 50.0]]), labels=torch.tensor([1])), dict(boxes=torch.tensor([[8.0, 2.0, 60.0, 44.0]]), labels=torch.tensor([2]))]
    return Case(model.eval(), ([torch.rand(3, 64, 80), torch.rand(3, 72, 64)],), train_args=(targets,))


@entry("diffusers")
def diffusers_unet2d():
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(sample_size=16, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=8, cross_attention_dim=32,
                                 down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
                                 attention_head_dim=8)
    return Case(model.eval(), (torch.randn(1, 4, 16, 16), torch.tensor(7), torch.randn(1, 5, 32)))


@entry("diffusers")
def diffusers_ddim_loop():
    """Four denoising steps: the scheduler's arithmetic and the network in one function."""
    from diffusers import DDIMScheduler, UNet2DModel

    model = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8).eval()
    scheduler = DDIMScheduler()
    scheduler.set_timesteps(4)

    def denoise(x):
        for t in scheduler.timesteps:
            x = scheduler.step(model(x, t).sample, t, x).prev_sample
        return x

    return Case(denoise, (torch.randn(1, 3, 16, 16),), modules=model)


@entry("vit_pytorch")
def lucid_vit():
    from vit_pytorch import ViT

    return Case(ViT(image_size=32, patch_size=8, num_classes=5, dim=64, depth=2, heads=4, mlp_dim=96).eval(), (pictures(),))


@entry("x_transformers")
def lucid_x_decoder():
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=64, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True)
    return Case(TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=32, attn_layers=layers).eval(), (tokens(2, 16),))


@entry("vector_quantize_pytorch")
def lucid_vq_train():
    """A codebook of moving averages: buffers change within the call."""
    from vector_quantize_pytorch import VectorQuantize

    model = VectorQuantize(dim=16, codebook_size=32, decay=0.8, commitment_weight=1.0)
    return Case(model.train(), (torch.randn(2, 20, 16, requires_grad=True),), train=True)


# ---------------------------------------------------------------- graphs, volumes, sound


def random_graph():
    return torch.randn(12, 8), torch.randint(0, 12, (2, 40))


@entry("torch_geometric")
def pyg_gcn():
    from torch_geometric.nn.models import GCN

    return Case(GCN(8, 16, num_layers=2, out_channels=4).eval(), random_graph())


@entry("torch_geometric")
def pyg_gin_pool():
    from torch_geometric.nn import global_mean_pool
    from torch_geometric.nn.models import GIN

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = GIN(8, 16, num_layers=2), nn.Linear(16, 3)

        def forward(self, x, edges, batch):
            return self.head(global_mean_pool(self.body(x, edges), batch)).log_softmax(-1)

    return Case(Classifier().eval(), (*random_graph(), torch.tensor([0] * 5 + [1] * 7)))


@entry("segmentation_models_pytorch")
def smp_unet():
    import segmentation_models_pytorch as smp

    return Case(smp.Unet("resnet18", encoder_weights=None, classes=2).eval(), (pictures(64),))


@entry("monai")
def monai_unet():
    from monai.networks.nets import UNet

    return Case(UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1).eval(), (torch.randn(1, 1, 16, 16, 16),))


@entry("torchaudio")
def ta_conformer():
    Conformer = importlib.import_module("torchaudio.models").Conformer
    return Case(Conformer(input_dim=16, num_heads=2, ffn_dim=32, num_layers=2, depthwise_conv_kernel_size=7).eval(),
                (torch.randn(2, 20, 16), torch.tensor([20, 15])))


# ---------------------------------------------------------------- recurrent nets, steps, metrics


@entry("torchcrf")
def lstm_crf_train():
    from torchcrf import CRF

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.lstm = nn.Embedding(64, 16), nn.LSTM(16, 16, bidirectional=True, batch_first=True)
            self.head, self.crf = nn.Linear(32, 5), CRF(5, batch_first=True)

        def forward(self, words, tags, mask):
            return -self.crf(self.head(self.lstm(self.embed(words))[0]), tags, mask=mask)

    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[1, 5:] = False
    return Case(Tagger(), (tokens(2, 8, top=64), torch.randint(0, 5, (2, 8)), mask), train=True)


@entry("torch")
def lstm_packed():
    """A classifier over packed sequences."""
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(64, 16, padding_idx=0)
            self.lstm = nn.LSTM(16, 16, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(32, 3)

        def forward(self, words, lengths):
            packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
            out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            return self.head(out.max(1).values)

    return Case(Classifier().eval(), (tokens(3, 10, top=64), torch.tensor([10, 4, 7])))


@entry("torch")
def dqn_step():
    """A whole update: loss, backward, clipping and the optimizer in one function."""
    net, target = (nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)) for _ in range(2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(seen, action, reward, following):
        with torch.no_grad():
            goal = reward + 0.99 * target(following).max(1).values
        loss = F.smooth_l1_loss(net(seen).gather(1, action[:, None])[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.detach(), norm, [p.detach().clone() for p in net.parameters()]

    return Case(step, (torch.randn(8, 6), torch.randint(0, 3, (8,)), torch.randn(8), torch.randn(8, 6)), modules=nn.ModuleList([net, target]))


@entry("torchmetrics")
def metrics_update():
    """Metric objects keep a state that the call changes."""
    from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

    accuracy, f1 = MulticlassAccuracy(num_classes=4), MulticlassF1Score(num_classes=4)

    def evaluate(logits, truth):
        accuracy.reset(), f1.reset()
        for part, labels in zip(logits, truth):
            accuracy.update(part, labels)
            f1.update(part, labels)
        return accuracy.compute(), f1.compute()

    return Case(evaluate, (torch.randn(3, 8, 4), torch.randint(0, 4, (3, 8))))


@entry("torch")
def nn_transformer_train():
    """torch.nn's own encoder and decoder with masks and dropout."""
    model = nn.Transformer(32, 4, 2, 2, 64, dropout=0.1, batch_first=True).train()
    return Case(model, (torch.randn(2, 8, 32), torch.randn(2, 6, 32)), dict(tgt_mask=nn.Transformer.generate_square_subsequent_mask(6)), train=True)
