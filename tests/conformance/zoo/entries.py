# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry points of public packages, tiny and with random weights: names in tables where only the name differs, functions where more does."""

import importlib

import torch
import torch.nn.functional as F
from torch import nn

from case import Case, entries_of, pictures, tokens
from shims import install

install()
ENTRIES, MISSING, entry = entries_of()


def table(package, prefix, rows, make):
    """One entry a row: make(row's name, *row's values)."""
    for name, *values in rows:
        def build(name=name, values=values):
            return make(name, *values)

        build.__name__ = prefix + name
        entry(package)(build)


# ---------------------------------------------------------------- transformers

TEXT = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
DECODE = dict(TEXT, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
PATCHES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)


def words(**more):
    mask = torch.ones(2, 10, dtype=torch.long)
    mask[1, 7:] = 0
    return dict(input_ids=tokens(2, 10), attention_mask=mask, **more)


def transformer(model, config, settings):
    import transformers

    return getattr(transformers, model)(getattr(transformers, config)(**settings)).eval()


def text_model(name, model, config, settings):
    return Case(transformer(model, config, settings), kwargs=words())


table("transformers", "hf_", [
    ("roberta", "RobertaModel", "RobertaConfig", dict(TEXT, pad_token_id=1)),
    ("distilbert", "DistilBertForSequenceClassification", "DistilBertConfig", dict(vocab_size=96, dim=32, n_layers=2, n_heads=4, hidden_dim=48)),
    ("electra", "ElectraForTokenClassification", "ElectraConfig", dict(TEXT, embedding_size=16)),
    ("albert", "AlbertModel", "AlbertConfig", dict(TEXT, embedding_size=16)),
    ("deberta_v2", "DebertaV2Model", "DebertaV2Config", dict(TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"])),
    ("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT),
    ("opt", "OPTForCausalLM", "OPTConfig", dict(vocab_size=96, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
                                                max_position_embeddings=64, word_embed_proj_dim=32)),
    ("bloom", "BloomForCausalLM", "BloomConfig", dict(vocab_size=96, hidden_size=32, n_layer=2, n_head=4)),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", DECODE),
    ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", dict(DECODE, head_dim=8)),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", dict(DECODE, head_dim=8)),
    ("phi3", "Phi3ForCausalLM", "Phi3Config", DECODE),
    ("mistral", "MistralForCausalLM", "MistralConfig", DECODE),
    ("falcon", "FalconForCausalLM", "FalconConfig", dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)),
], text_model)

table("transformers", "hf_", [
    ("vit", "ViTForImageClassification", "ViTConfig", dict(PATCHES, num_labels=4)),
    ("beit", "BeitModel", "BeitConfig", dict(PATCHES, use_relative_position_bias=True)),
    ("dinov2", "Dinov2Model", "Dinov2Config", PATCHES),
    ("convnext", "ConvNextModel", "ConvNextConfig", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])),
    ("swin", "SwinModel", "SwinConfig", dict(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4)),
    ("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                                                            num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16)),
    ("resnet", "ResNetModel", "ResNetConfig", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")),
], lambda name, model, config, settings: Case(transformer(model, config, settings), kwargs=dict(pixel_values=pictures())))


@entry("transformers")
def hf_bart():
    model = transformer("BartForConditionalGeneration", "BartConfig", dict(
        vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64))
    return Case(model, kwargs=words(labels=tokens(2, 6)))


@entry("transformers")
def hf_wav2vec2():
    model = transformer("Wav2Vec2Model", "Wav2Vec2Config", dict(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 2),
        conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4))
    return Case(model, (torch.randn(2, 800),))


@entry("transformers")
def hf_llama_generate():
    """Greedy decoding with the key-value cache, the whole loop compiled."""
    model = transformer("LlamaForCausalLM", "LlamaConfig", DECODE)

    def generate(ids):
        return model.generate(ids, max_new_tokens=5, do_sample=False)

    return Case(generate, (tokens(2, 6),), modules=model, around=torch.no_grad)


@entry("transformers")
def hf_gpt2_cache_loop():
    """The same by hand: one token a step, the cache passed on."""
    model = transformer("GPT2LMHeadModel", "GPT2Config", dict(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64))

    def decode(ids):
        cache, out = None, []
        for _ in range(4):
            step = model(ids, past_key_values=cache, use_cache=True)
            cache, ids = step.past_key_values, step.logits[:, -1:].argmax(-1)
            out.append(ids)
        return torch.cat(out, 1)

    return Case(decode, (tokens(2, 6),), modules=model, around=torch.no_grad)


@entry("transformers")
def hf_llama_lengths():
    """A new length with each call."""
    return Case(transformer("LlamaForCausalLM", "LlamaConfig", DECODE), (tokens(2, 8),), again=lambda i: ((tokens(2, 8 + 3 * i),), {}))


@entry("transformers")
def hf_qwen2_train():
    return Case(transformer("Qwen2ForCausalLM", "Qwen2Config", DECODE).train(), kwargs=words(labels=tokens(2, 10)), train=True)


@entry("transformers")
def hf_roberta_autocast():
    return Case(transformer("RobertaModel", "RobertaConfig", dict(TEXT, pad_token_id=1)), kwargs=words(), modules=nn.Module(),
                around=lambda: torch.autocast("cpu", dtype=torch.bfloat16))


# ---------------------------------------------------------------- timm, torchvision

def image_model(name, side=64, **settings):
    import timm

    return Case(timm.create_model(name, pretrained=False, num_classes=7, **settings).eval(), (pictures(side, 1),))


table("timm", "timm_", [
    ("efficientnet_b0",), ("convnext_atto",), ("mobilenetv2_050",), ("regnetx_002",), ("densenet121",), ("resmlp_12_224", 224), ("repvgg_a0",),
    ("mixer_s32_224", 224), ("maxvit_rmlp_pico_rw_256", 256), ("levit_128s", 224), ("poolformerv2_s12", 64), ("pvt_v2_b0", 64), ("edgenext_xx_small", 64),
    ("ghostnet_050",), ("hrnet_w18_small",), ("eva02_tiny_patch14_224", 224), ("xcit_nano_12_p16_224", 64), ("fastvit_t8", 64),
    ("resnest14d",), ("seresnet18",), ("coat_lite_tiny", 224), ("tinynet_e", 64), ("dla34", 64), ("res2net50_26w_4s", 64),
], image_model)


def vision_model(name, path, arguments=(), **settings):
    module = importlib.import_module("torchvision.models." + path)
    return Case(getattr(module, name)(weights=None, **settings).eval(), arguments or (pictures(64, 1),))


table("torchvision", "tv_", [
    ("mobilenet_v3_small", "mobilenetv3"), ("efficientnet_b0", "efficientnet"), ("densenet121", "densenet"), ("shufflenet_v2_x0_5", "shufflenetv2"),
    ("squeezenet1_1", "squeezenet"), ("mnasnet0_5", "mnasnet"), ("regnet_y_400mf", "regnet"), ("convnext_tiny", "convnext"), ("swin_v2_t", "swin_transformer"),
], vision_model)


@entry("torchvision")
def tv_googlenet_train():
    from torchvision.models.googlenet import GoogLeNet

    return Case(GoogLeNet(num_classes=5, init_weights=False).train(), (pictures(64),), train=True)


@entry("torchvision")
def tv_deeplabv3():
    from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

    return Case(deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3).eval(), (pictures(64, 1),))


@entry("torchvision")
def tv_r3d():
    from torchvision.models.video import r3d_18

    return Case(r3d_18(weights=None, num_classes=4).eval(), (torch.randn(1, 3, 4, 32, 32),))


# ---------------------------------------------------------------- diffusers

@entry("diffusers")
def diffusers_vae():
    from diffusers import AutoencoderKL

    return Case(AutoencoderKL(block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2, norm_num_groups=8,
                              up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, sample_size=16).eval(), (pictures(16, 1),))


@entry("diffusers")
def diffusers_dit():
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=2, sample_size=8,
                                  patch_size=2, norm_num_groups=4).eval()
    return Case(model, (torch.randn(1, 4, 8, 8),), dict(timestep=torch.tensor([3]), class_labels=torch.tensor([1])))


@entry("diffusers")
def diffusers_euler_loop():
    from diffusers import EulerDiscreteScheduler, UNet2DModel

    model = UNet2DModel(sample_size=8, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
                        down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2).eval()

    def sample(noise):
        scheduler = EulerDiscreteScheduler()
        scheduler.set_timesteps(3)
        x = noise * scheduler.init_noise_sigma
        for t in scheduler.timesteps:
            guess = model(scheduler.scale_model_input(x, t), t, return_dict=False)[0]
            x = scheduler.step(guess, t, x, return_dict=False)[0]
        return x

    return Case(sample, (torch.randn(1, 3, 8, 8),), modules=model, around=torch.no_grad)


# ---------------------------------------------------------------- lucidrains

def vit_of(name, **settings):
    module = importlib.import_module("vit_pytorch" if name == "SimpleViT" else settings.pop("path"))
    return Case(getattr(module, name)(**settings).eval(), (pictures(32, 1),))


VIT = dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=48)


@entry("vit_pytorch")
def lucid_simple_vit():
    return vit_of("SimpleViT", **VIT)


@entry("vit_pytorch")
def lucid_cait():
    return vit_of("CaiT", path="vit_pytorch.cait", cls_depth=1, **VIT)


@entry("vit_pytorch")
def lucid_deepvit():
    return vit_of("DeepViT", path="vit_pytorch.deepvit", **VIT)


@entry("vit_pytorch")
def lucid_cct():
    return vit_of("CCT", path="vit_pytorch.cct", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=3, stride=2, padding=1, num_layers=2,
                  num_heads=4, mlp_ratio=2, num_classes=5)


@entry("vit_pytorch")
def lucid_mobile_vit():
    return vit_of("MobileViT", path="vit_pytorch.mobile_vit", image_size=(32, 32), dims=[16, 24, 32], channels=[8, 8, 16, 16, 24, 24, 24, 24, 32, 32, 32],
                  num_classes=5)


@entry("x_transformers")
def lucid_x_encoder():
    from x_transformers import Encoder, ViTransformerWrapper

    return Case(ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=Encoder(dim=32, depth=2, heads=4)).eval(), (pictures(32, 1),))


@entry("x_transformers")
def lucid_x_loss():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=96, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4)))
    return Case(model.train(), (tokens(2, 12),), train=True)


@entry("vector_quantize_pytorch")
def lucid_fsq():
    from vector_quantize_pytorch import FSQ

    return Case(FSQ([8, 5, 5]).eval(), (torch.randn(1, 16, 3),))


@entry("vector_quantize_pytorch")
def lucid_residual_vq():
    from vector_quantize_pytorch import ResidualVQ

    return Case(ResidualVQ(dim=8, num_quantizers=2, codebook_size=16).eval(), (torch.randn(1, 12, 8),))


# ---------------------------------------------------------------- segmentation, medical

def smp_model(name):
    import segmentation_models_pytorch as smp

    return Case(getattr(smp, name)("resnet18", encoder_weights=None, classes=2).eval(), (pictures(64, 1),))


table("segmentation_models_pytorch", "smp_", [("FPN",), ("Linknet",), ("UnetPlusPlus",), ("DeepLabV3Plus",), ("PSPNet",)], smp_model)


@entry("segmentation_models_pytorch")
def smp_dice_train():
    import segmentation_models_pytorch as smp

    model, loss = smp.Unet("resnet18", encoder_weights=None, classes=1), smp.losses.DiceLoss("binary")

    def step(x, truth):
        return loss(model(x), truth)

    return Case(step, (pictures(32), torch.randint(0, 2, (2, 1, 32, 32)).float()), train=True, modules=model.train())


def monai_model(name, shape, settings):
    nets = importlib.import_module("monai.networks.nets")
    return Case(getattr(nets, name)(**settings).eval(), (torch.randn(*shape),))


table("monai", "monai_", [
    ("SegResNet", (1, 1, 16, 16, 16), dict(spatial_dims=3, init_filters=8, in_channels=1, out_channels=2, blocks_down=(1, 1), blocks_up=(1,))),
    ("UNETR", (1, 1, 32, 32), dict(in_channels=1, out_channels=2, img_size=(32, 32), feature_size=8, hidden_size=24, mlp_dim=32, num_heads=4, spatial_dims=2)),
    ("AttentionUnet", (1, 1, 32, 32), dict(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))),
    ("DenseNet121", (1, 1, 32, 32), dict(spatial_dims=2, in_channels=1, out_channels=2)),
    ("BasicUNet", (1, 1, 32, 32), dict(spatial_dims=2, in_channels=1, out_channels=2, features=(8, 8, 8, 8, 8, 8))),
    ("SwinUNETR", (1, 1, 64, 64), dict(in_channels=1, out_channels=2, feature_size=12, spatial_dims=2)),
], monai_model)


@entry("monai")
def monai_dice_loss():
    from monai.losses import DiceCELoss

    return Case(DiceCELoss(to_onehot_y=True, softmax=True), (torch.randn(2, 3, 8, 8, requires_grad=True), torch.randint(0, 3, (2, 1, 8, 8))), train=True)


# ---------------------------------------------------------------- graphs

def graph_model(name, **settings):
    models = importlib.import_module("torch_geometric.nn.models")
    return Case(getattr(models, name)(6, 12, num_layers=2, out_channels=3, **settings).eval(), (torch.randn(9, 6), torch.randint(0, 9, (2, 30))))


table("torch_geometric", "pyg_", [("GAT",), ("GraphSAGE",)], graph_model)


@entry("torch_geometric")
def pyg_conv_train():
    from torch_geometric.nn import GraphConv, TransformerConv, global_add_pool

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.head = GraphConv(6, 8), TransformerConv(8, 8, heads=2), nn.Linear(16, 2)

        def forward(self, x, edges, batch):
            x = F.relu(self.a(x, edges))
            return self.head(global_add_pool(self.b(x, edges), batch))

    return Case(Net(), (torch.randn(9, 6), torch.randint(0, 9, (2, 30)), torch.tensor([0] * 4 + [1] * 5)), train=True)


# ---------------------------------------------------------------- audio, metrics

@entry("torchaudio")
def ta_wav2letter():
    from torchaudio.models import Wav2Letter

    return Case(Wav2Letter(num_classes=5, input_type="mfcc", num_features=8).eval(), (torch.randn(1, 8, 40),))


@entry("torchaudio")
def ta_conv_tasnet():
    from torchaudio.models import ConvTasNet

    return Case(ConvTasNet(num_sources=2, enc_num_feats=16, msk_num_feats=8, msk_num_hidden_feats=16, msk_num_layers=2, msk_num_stacks=1).eval(),
                (torch.randn(1, 1, 400),))


@entry("torchaudio")
def ta_mel():
    from torchaudio.transforms import MelSpectrogram

    return Case(MelSpectrogram(n_fft=64, n_mels=8), (torch.randn(1, 800),))


@entry("torchmetrics")
def metrics_collection():
    from torchmetrics import MetricCollection
    from torchmetrics.classification import MulticlassAccuracy, MulticlassPrecision

    metrics = MetricCollection([MulticlassAccuracy(3), MulticlassPrecision(3)])

    def evaluate(logits, truth):
        metrics.reset()
        metrics.update(logits, truth)
        return metrics.compute()

    return Case(evaluate, (torch.randn(10, 3), torch.randint(0, 3, (10,))))


@entry("torchmetrics")
def metrics_regression():
    from torchmetrics.regression import MeanSquaredError

    metric = MeanSquaredError()
    return Case(lambda a, b: metric(a, b), (torch.randn(10), torch.randn(10)))
