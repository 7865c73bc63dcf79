// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/scalar_math.h"

#include <cmath>

namespace breakline::cpu {
namespace {

using schedule::Op;

template <typename T, T (*function)(T)>
void map(T* values, int n) {
  for (int i = 0; i < n; ++i) values[i] = function(values[i]);
}
template <typename T, T (*function)(T, T)>
void map2(T* values, const T* second, int n) {
  for (int i = 0; i < n; ++i) values[i] = function(values[i], second[i]);
}

template <typename T, T (*function)(T)>
void* one() {
  return reinterpret_cast<void*>(&map<T, function>);
}
template <typename T, T (*function)(T, T)>
void* two() {
  return reinterpret_cast<void*>(&map2<T, function>);
}

const ScalarFunction kFunctions[] = {
    {Op::kSin, false, "bl_map_sinf", one<float, &::sinf>()},
    {Op::kCos, false, "bl_map_cosf", one<float, &::cosf>()},
    {Op::kTan, false, "bl_map_tanf", one<float, &::tanf>()},
    {Op::kPow, false, "bl_map_powf", two<float, &::powf>()},
    {Op::kRem, false, "bl_map_fmodf", two<float, &::fmodf>()},
    {Op::kExp, true, "bl_map_exp", one<double, &::exp>()},
    {Op::kExp2, true, "bl_map_exp2", one<double, &::exp2>()},
    {Op::kExpm1, true, "bl_map_expm1", one<double, &::expm1>()},
    {Op::kLog, true, "bl_map_log", one<double, &::log>()},
    {Op::kLog2, true, "bl_map_log2", one<double, &::log2>()},
    {Op::kLog10, true, "bl_map_log10", one<double, &::log10>()},
    {Op::kLog1p, true, "bl_map_log1p", one<double, &::log1p>()},
    {Op::kSin, true, "bl_map_sin", one<double, &::sin>()},
    {Op::kCos, true, "bl_map_cos", one<double, &::cos>()},
    {Op::kTan, true, "bl_map_tan", one<double, &::tan>()},
    {Op::kTanh, true, "bl_map_tanh", one<double, &::tanh>()},
    {Op::kSinh, true, "bl_map_sinh", one<double, &::sinh>()},
    {Op::kCosh, true, "bl_map_cosh", one<double, &::cosh>()},
    {Op::kAtan, true, "bl_map_atan", one<double, &::atan>()},
    {Op::kErf, true, "bl_map_erf", one<double, &::erf>()},
    {Op::kPow, true, "bl_map_pow", two<double, &::pow>()},
    {Op::kRem, true, "bl_map_fmod", two<double, &::fmod>()},
};

}  // namespace

std::span<const ScalarFunction> scalar_functions() { return kFunctions; }

}  // namespace breakline::cpu
