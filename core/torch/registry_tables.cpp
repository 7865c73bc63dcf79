// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/registry_tables.h"

namespace breakline::torch {
namespace {

using K = CallableKind;
using S = Scope;

constexpr NameGroup kGroups[] = {
    {S::kTorch, K::kFactory, "",
     "zeros ones empty full arange range eye linspace logspace rand randn randint randperm empty_strided "
     "empty_permuted "
     "tril_indices triu_indices scalar_tensor tensor as_tensor asarray bartlett_window blackman_window "
     "hamming_window "
     "hann_window kaiser_window _efficientzerotensor"},
    {S::kTorch, K::kBreak, "numpy-array", "from_numpy frombuffer"},
    {S::kTorch, K::kBreak, "file-io", "from_file"},
    {S::kTorch, K::kFoldFalse, "",
     "_has_torch_function _has_torch_function_unary _has_torch_function_variadic"},
    {S::kTorch, K::kFold, "",
     "promote_types can_cast _parse_to is_vulkan_available broadcast_shapes finfo iinfo Size device dtype "
     "_get_tracing_state "
     "_get_cudnn_enabled _get_cudnn_benchmark _get_cudnn_deterministic _get_cudnn_allow_tf32 "
     "_get_mkldnn_enabled "
     "_get_mkldnn_deterministic _get_nnpack_enabled _get_onednn_allow_tf32 _get_cublas_allow_tf32 "
     "_get_flash_sdp_enabled _get_math_sdp_enabled _get_mem_efficient_sdp_enabled _get_cudnn_sdp_enabled _get_overrideable_sdp_enabled "
     "_get_float32_matmul_precision _get_privateuse1_backend_name _autocast_supported_devices "
     "_is_autocast_available "
     "_get_accelerator _has_distributed _log_api_usage_once _is_tracing _get_warnAlways _get_qengine "
     "_get_backcompat_broadcast_warn _get_backcompat_keepdim_warn "
     "_infer_size _get_value_trace _is_flash_attention_available"},
    {S::kTorch, K::kAmbientQuery, "",
     "is_grad_enabled is_inference_mode_enabled is_autocast_enabled is_autocast_cpu_enabled "
     "is_autocast_ipu_enabled "
     "is_autocast_xla_enabled get_autocast_dtype get_autocast_cpu_dtype get_autocast_gpu_dtype "
     "get_autocast_ipu_dtype "
     "get_autocast_xla_dtype is_autocast_cache_enabled _is_any_autocast_enabled get_default_dtype "
     "_get_deterministic_algorithms _get_deterministic_algorithms_warn_only "
     "_get_deterministic_fill_uninitialized_memory is_anomaly_enabled is_anomaly_check_nan_enabled "
     "_is_torch_function_enabled _is_torch_function_all_disabled _is_torch_function_mode_enabled "
     "_get_torch_function_state _len_torch_function_stack _len_torch_dispatch_stack "
     "_are_functorch_transforms_active "
     "_is_fwd_grad_enabled _is_multithreading_enabled _is_view_replay_enabled "
     "_is_grad_layout_enforcement_enabled "
     "_get_default_device _get_dispatch_mode"},
    {S::kTorch, K::kAmbientSet, "",
     "_set_grad_enabled set_autocast_enabled set_autocast_cpu_enabled set_autocast_dtype "
     "set_autocast_cpu_dtype "
     "_set_sdp_use_flash _set_sdp_use_math _set_sdp_use_mem_efficient _set_sdp_use_cudnn _set_sdp_use_overrideable "
     "_set_default_dtype _set_deterministic_algorithms use_deterministic_algorithms _set_torch_function_state set_autocast_cache_enabled autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache"},
    {S::kTorch, K::kBreak, "global-state",
     "_set_default_tensor_type set_flush_denormal "
     "set_num_threads get_num_threads get_num_interop_threads "
     "set_num_interop_threads set_anomaly_enabled _set_deterministic_fill_uninitialized_memory "
     "_set_cudnn_enabled "
     "_set_cudnn_benchmark _set_mkldnn_enabled _set_nnpack_enabled _set_float32_matmul_precision "
     "_set_fwd_grad_enabled "
     "_set_multithreading_enabled _push_on_torch_function_stack "
     "_pop_torch_function_stack "
     "_push_on_torch_dispatch_stack _pop_torch_dispatch_stack _set_dispatch_mode _unset_dispatch_mode "
     "set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_xla_dtype set_autocast_ipu_enabled "
     "set_autocast_xla_enabled _set_warnAlways _set_qengine"},
    {S::kTorch, K::kBreak, "rng-seed", "manual_seed seed initial_seed set_rng_state get_rng_state"},
    {S::kTorch, K::kReadsValue, "data-dependent-operator",
     "equal allclose is_nonzero _assert_async _assert_scalar"},
    {S::kTensor, K::kReadsValue, "data-dependent-operator", "equal allclose is_nonzero __contains__"},
    {S::kTensor, K::kReadsValue, "tensor-item", "item __int__ __float__ __complex__ _local_scalar_dense"},
    {S::kTensor, K::kReadsValue, "data-dependent-branch", "__bool__ __nonzero__"},
    {S::kTensor, K::kReadsValue, "tensor-index", "__index__"},
    {S::kTensor, K::kReadsValue, "tensor-tolist", "tolist"},
    {S::kTensor, K::kReadsValue, "numpy-array",
     "numpy __array__ __array_wrap__ __dlpack__ __dlpack_device__ map_ map2_ apply_"},
    {S::kTensor, K::kReadsValue, "tensor-text", "__repr__ __str__ __format__"},
    {S::kTensor, K::kReadsValue, "tensor-storage",
     "data_ptr storage untyped_storage _typed_storage storage_type is_shared share_memory_ _storage "
     "is_set_to "
     "is_pinned pin_memory __reduce_ex__ __setstate__ _make_subclass resize "
     "resize_as "
     "record_stream"},
    {S::kTensor, K::kBreak, "backward", "backward"},
    {S::kTensor, K::kBreak, "requires-grad", "requires_grad_ retain_grad"},
    {S::kBoth, K::kBreak, "tensor-data", "is_inference"},
    {S::kTensor, K::kBreak, "tensor-hook", "register_hook register_post_accumulate_grad_hook"},
    {S::kTensor, K::kBreak, "deepcopy", "__deepcopy__"},
    {S::kTensor, K::kBreak, "sparse-tensor",
     "to_sparse to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc to_sparse_coo coalesce to_mkldnn "
     "values indices "
     "crow_indices col_indices row_indices ccol_indices sparse_mask sparse_resize_ sparse_resize_and_clear_ "
     "to_dense"},
    {S::kTorch, K::kBreak, "sparse-tensor",
     "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor "
     "sparse_compressed_tensor hspmm sspaddmm smm"},
    {S::kTorch, K::kBreak, "quantised-tensor",
     "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize empty_quantized "
     "int_repr "
     "_empty_affine_quantized _empty_per_channel_affine_quantized"},
    {S::kTensor, K::kBreak, "foreign-device", "cuda xpu ipu mtia hpu"},
    {S::kTensor, K::kBreak, "python-random", "reinforce"},
    {S::kFunctional, K::kOp, "",
     "einsum tensordot cdist stft istft meshgrid broadcast_tensors cartesian_prod block_diag atleast_1d "
     "atleast_2d "
     "atleast_3d norm split chain_matmul"},
    {S::kFunctional, K::kFold, "", "broadcast_shapes"},
    {S::kOperator, K::kOp, "",
     "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift neg pos invert inv abs eq ne lt "
     "le gt ge "
     "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift getitem setitem"},
};

constexpr AttributeGroup kAttributes[] = {
    {AttributeKind::kConstant, "",
     "shape dtype device layout ndim requires_grad is_leaf itemsize nbytes is_cuda is_cpu is_mtia is_xla "
     "is_xpu is_ipu "
     "is_sparse is_sparse_csr is_mkldnn is_mps is_maia is_vulkan is_quantized is_meta is_nested "
     "_has_symbolic_sizes_strides names name"},
    {AttributeKind::kOp, "", "T mT H mH real imag data"},
    {AttributeKind::kBreak, "grad-access",
     "grad grad_fn _grad _grad_fn retains_grad _backward_hooks _post_accumulate_grad_hooks output_nr "
     "grad_dtype volatile"},
    {AttributeKind::kBreak, "tensor-data", "_version _base _cdata"},
};

}  // namespace

std::span<const NameGroup> name_groups() { return kGroups; }
std::span<const AttributeGroup> attribute_groups() { return kAttributes; }

std::string_view dynamic_shape_names() {
  return "nonzero argwhere masked_select unique_consecutive unique_dim _unique _unique2 bincount "
         "combinations "
         "nonzero_numpy histogramdd unique one_hot_infer";
}

std::string_view random_names() {
  return "rand randn randint randperm rand_like randn_like randint_like normal normal_ uniform_ random_ "
         "bernoulli "
         "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial poisson binomial dropout "
         "dropout_ "
         "feature_dropout feature_dropout_ alpha_dropout alpha_dropout_ feature_alpha_dropout "
         "feature_alpha_dropout_ "
         "native_dropout rrelu rrelu_ rrelu_with_noise rrelu_with_noise_ fractional_max_pool2d "
         "fractional_max_pool3d "
         "scaled_dot_product_attention _sample_dirichlet _standard_gamma lstm gru rnn_tanh rnn_relu "
         "_fused_dropout";
}

std::string_view may_fail_names() {
  return "embedding embedding_bag gather index_select scatter scatter_ scatter_add scatter_add_ "
         "scatter_reduce "
         "scatter_reduce_ index_put index_put_ index_add index_add_ index_copy index_copy_ index_fill "
         "index_fill_ take "
         "put put_ take_along_dim one_hot nll_loss nll_loss_nd nll_loss2d cross_entropy_loss multinomial "
         "bernoulli "
         "bernoulli_ normal poisson inverse cholesky lu_solve triangular_solve linalg_inv linalg_cholesky "
         "linalg_solve "
         "linalg_eigh linalg_eig linalg_svd linalg_lu linalg_lstsq linalg_qr det slogdet logdet pinverse "
         "linalg_pinv "
         "ctc_loss masked_scatter masked_scatter_ __getitem__ __setitem__ getitem setitem floor_divide "
         "remainder fmod "
         "div pow searchsorted bucketize kthvalue mode median multi_margin_loss multilabel_margin_loss "
         "binary_cross_entropy";
}

std::string_view asked_for_real_names() {
  return "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_hfft2 fft_ihfft2 fft_fftn "
         "fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn _fft_r2c _fft_c2c _fft_c2r stft istft linalg_eig geqrf histogram hash_tensor "
         "cov corrcoef nonzero_static max_unpool2d max_unpool3d svd lu_solve native_layer_norm native_batch_norm _native_batch_norm_legit "
         "_batch_norm_with_update native_group_norm rms_norm type typename";
}

std::string_view metadata_answer_names() {
  return "size stride dim ndimension numel nelement element_size get_device dim_order dense_dim sparse_dim type typename "
         "is_contiguous is_floating_point is_complex is_signed is_same_size is_conj is_neg is_distributed is_coalesced is_tensor "
         "is_storage has_names _is_zerotensor _debug_has_internal_overlap _has_compatible_shallow_copy_type result_type can_cast "
         "promote_types broadcast_shapes cudnn_is_acceptable is_vulkan_available _nnpack_available _use_cudnn_rnn_flatten_weight "
         "_parse_to _fused_sdp_choice";
}

}  // namespace breakline::torch
