// SPDX-License-Identifier: GPL-3.0-or-later
// Polynomials: minimax fits by iteratively reweighted least squares on Chebyshev nodes, then rounded to
// float. `precise` forbids contraction and reassociation where a step relies on exact rounding.
#include "core/vulkan/glsl_math.h"

#include <set>

namespace breakline::vulkan {
namespace {

struct Function {
  std::string_view name;
  std::string_view text;
};

// Callees before callers: the order of output.
constexpr Function kFunctions[] = {
    {"bl_nan", R"(float bl_nan() { return uintBitsToFloat(0x7fc00000u); }
)"},
    {"bl_inf", R"(float bl_inf() { return uintBitsToFloat(0x7f800000u); }
)"},
    {"bl_is_nan", R"(bool bl_is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
)"},
    {"bl_copy_sign", R"(float bl_copy_sign(float magnitude, float sign) {
  return uintBitsToFloat((floatBitsToUint(magnitude) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}
)"},
    {"bl_power_of_two", R"(float bl_power_of_two(int n) { return uintBitsToFloat(uint(n + 127) << 23); }
)"},
    // 2^n * (1 + r + r^2 P(r)) with |r| <= ln(2)/2.
    {"bl_exp_scaled", R"(float bl_exp_scaled(float r, int n) {
  precise float p = ((((1.39517023e-3 * r + 8.36959016e-3) * r + 4.16661873e-2) * r + 0.166665137) * r + 0.5) * r * r;
  precise float y = (p + r) + 1.0;
  int h = n >> 1;
  return y * bl_power_of_two(h) * bl_power_of_two(n - h);
}
)"},
    {"bl_exp_reduce", R"(float bl_exp_reduce(float x, out int n) {
  precise float k = roundEven(x * 1.44269504);
  n = int(k);
  precise float r = x - k * 0.693359375;
  r = r + k * 2.12194440e-4;
  return r;
}
)"},
    {"bl_exp", R"(float bl_exp(float x) {
  if (bl_is_nan(x)) return x;
  if (x > 88.7228394) return bl_inf();
  if (x < -104.0) return 0.0;
  int n;
  float r = bl_exp_reduce(x, n);
  return bl_exp_scaled(r, n);
}
)"},
    {"bl_exp2", R"(float bl_exp2(float x) {
  if (bl_is_nan(x)) return x;
  if (x >= 128.0) return bl_inf();
  if (x < -150.0) return 0.0;
  precise float k = roundEven(x);
  precise float r = (x - k) * 0.693147182;
  return bl_exp_scaled(r, int(k));
}
)"},
    {"bl_expm1", R"(float bl_expm1(float x) {
  if (bl_is_nan(x) || x == 0.0) return x;
  if (x > 88.7228394) return bl_inf();
  if (x < -18.0) return -1.0;
  if (x > 80.0) return bl_exp(x);
  int n;
  precise float r = bl_exp_reduce(x, n);
  precise float p = ((((1.39517023e-3 * r + 8.36959016e-3) * r + 4.16661873e-2) * r + 0.166665137) * r + 0.5) * r * r;
  precise float y = p + r;
  if (n == 0) return y;
  float s = bl_power_of_two(n);
  precise float z = s * y + (s - 1.0);
  return z;
}
)"},
    // x = 2^e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); x > 0, finite.
    {"bl_log_split", R"(float bl_log_split(float x, out int e) {
  uint u = floatBitsToUint(x);
  e = -127;
  if (u < 0x800000u) {
    u = floatBitsToUint(float(u));
    e = -276;
  }
  e += int(u >> 23);
  u = (u & 0x7fffffu) | 0x3f800000u;
  float m = uintBitsToFloat(u);
  if (m >= 1.41421354) {
    m *= 0.5;
    e += 1;
  }
  return m - 1.0;
}
)"},
    // log(1 + f) - f
    {"bl_log_tail", R"(float bl_log_tail(float f) {
  precise float p = 6.91476911e-2;
  p = p * f - 0.117925592;
  p = p * f + 0.118745968;
  p = p * f - 0.123840481;
  p = p * f + 0.142184362;
  p = p * f - 0.166692585;
  p = p * f + 0.200022355;
  p = p * f - 0.249999866;
  p = p * f + 0.333333105;
  precise float z = f * f;
  precise float y = p * f * z - 0.5 * z;
  return y;
}
)"},
    {"bl_log_special", R"(bool bl_log_special(float x, out float y) {
  uint u = floatBitsToUint(x);
  y = x;
  if ((u & 0x7fffffffu) == 0u) {
    y = -bl_inf();
    return true;
  }
  if ((u & 0x7fffffffu) > 0x7f800000u) return true;
  if ((u & 0x80000000u) != 0u) {
    y = bl_nan();
    return true;
  }
  return u == 0x7f800000u;
}
)"},
    {"bl_log", R"(float bl_log(float x) {
  float y;
  if (bl_log_special(x, y)) return y;
  int e;
  precise float f = bl_log_split(x, e);
  precise float k = float(e);
  precise float t = bl_log_tail(f) - k * 2.12194440e-4;
  precise float s = (t + f) + k * 0.693359375;
  return s;
}
)"},
    {"bl_log2", R"(float bl_log2(float x) {
  float y;
  if (bl_log_special(x, y)) return y;
  int e;
  precise float f = bl_log_split(x, e);
  precise float t = bl_log_tail(f);
  precise float s = (t * 0.442695041 + f * 0.442695041) + t;
  s = (s + f) + float(e);
  return s;
}
)"},
    {"bl_log10", R"(float bl_log10(float x) {
  float y;
  if (bl_log_special(x, y)) return y;
  int e;
  precise float f = bl_log_split(x, e);
  precise float t = bl_log_tail(f);
  precise float k = float(e);
  // log10(e) = 0.4375 - 0.00320551809, log10(2) = 0.30078125 + 0.000248745664
  precise float s = (t * -3.20551809e-3 + f * -3.20551809e-3) + k * 2.48745664e-4;
  s = s + t * 0.4375;
  s = s + f * 0.4375;
  s = s + k * 0.30078125;
  return s;
}
)"},
    {"bl_log1p", R"(float bl_log1p(float x) {
  if (bl_is_nan(x) || x == 0.0 || x == bl_inf()) return x;
  if (x < -1.0) return bl_nan();
  if (x == -1.0) return -bl_inf();
  precise float u = 1.0 + x;
  if (u == 1.0) return x;
  int e;
  precise float f = bl_log_split(u, e);
  precise float lost = u > 1.0e9 ? 0.0 : (x - (u - 1.0)) / u;
  if (e == 0 && abs(x) < 0.4) {
    f = x;
    lost = 0.0;
  }
  precise float k = float(e);
  precise float t = (bl_log_tail(f) + lost) - k * 2.12194440e-4;
  precise float s = (t + f) + k * 0.693359375;
  return s;
}
)"},
    // x - q * pi/2 in [-pi/4, pi/4]; q modulo 4. For |x| >= 1000 by an integer product with the bits of 2/pi.
    {"bl_trig_reduce",
     R"(const uint kTwoOverPi[7] = uint[7](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
float bl_trig_reduce(float x, out int q) {
  uint u = floatBitsToUint(x) & 0x7fffffffu;
  if (u < 0x447a0000u) {
    precise float k = roundEven(x * 0.636619747);
    q = int(k);
    precise float r = x - k * 1.5703125;
    r = r - k * 4.83751297e-4;
    r = r - k * 7.54978995e-8;
    return r;
  }
  uint m = ((u & 0x7fffffu) | 0x800000u) << 8;
  int at = int(u >> 23) - 128;
  int word = at >> 5;
  uint shift = uint(at) & 31u;
  uint w[3];
  for (int i = 0; i < 3; i++) {
    uint high = kTwoOverPi[word + i];
    w[i] = shift == 0u ? high : (high << shift) | (kTwoOverPi[word + i + 1] >> (32u - shift));
  }
  uint low, carry, middle, high, unused;
  umulExtended(m, w[2], carry, low);
  umulExtended(m, w[1], high, middle);
  uint sum = middle + carry;
  if (sum < middle) high += 1u;
  middle = sum;
  high += m * w[0];
  q = int(high >> 30);
  uint hi = (high << 2) | (middle >> 30);
  uint lo = (middle << 2) | (low >> 30);
  float sign = 1.0;
  if ((hi & 0x80000000u) != 0u) {
    q += 1;
    sign = -1.0;
    hi = ~hi;
    lo = ~lo + 1u;
    if (lo == 0u) hi += 1u;
  }
  float r = sign * (float(hi) * 2.32830644e-10 + float(lo) * 5.42101086e-20) * 1.57079637;
  if ((floatBitsToUint(x) & 0x80000000u) != 0u) {
    r = -r;
    q = -q;
  }
  return r;
}
)"},
    {"bl_sin_poly", R"(float bl_sin_poly(float r) {
  precise float z = r * r;
  precise float p = (((2.71827844e-6 * z - 1.98393318e-4) * z + 8.33332911e-3) * z - 0.166666672) * z * r;
  return r + p;
}
)"},
    {"bl_cos_poly", R"(float bl_cos_poly(float r) {
  precise float z = r * r;
  precise float p = (((-2.720993e-7 * z + 2.47995158e-5) * z - 1.38888834e-3) * z + 4.16666679e-2) * z * z;
  precise float y = (1.0 - 0.5 * z) + p;
  return y;
}
)"},
    {"bl_sin", R"(float bl_sin(float x) {
  if ((floatBitsToUint(x) & 0x7fffffffu) >= 0x7f800000u) return bl_nan();
  if (x == 0.0) return x;
  int q;
  float r = bl_trig_reduce(x, q);
  float y = (q & 1) == 0 ? bl_sin_poly(r) : bl_cos_poly(r);
  return (q & 2) == 0 ? y : -y;
}
)"},
    {"bl_cos", R"(float bl_cos(float x) {
  if ((floatBitsToUint(x) & 0x7fffffffu) >= 0x7f800000u) return bl_nan();
  int q;
  float r = bl_trig_reduce(x, q);
  float y = (q & 1) == 0 ? bl_cos_poly(r) : bl_sin_poly(r);
  return ((q + 1) & 2) == 0 ? y : -y;
}
)"},
    {"bl_tan", R"(float bl_tan(float x) {
  if ((floatBitsToUint(x) & 0x7fffffffu) >= 0x7f800000u) return bl_nan();
  if (x == 0.0) return x;
  int q;
  float r = bl_trig_reduce(x, q);
  float s = bl_sin_poly(r);
  float c = bl_cos_poly(r);
  return (q & 1) == 0 ? s / c : -c / s;
}
)"},
    {"bl_tanh", R"(float bl_tanh(float x) {
  if (bl_is_nan(x)) return x;
  float a = abs(x);
  precise float y;
  if (a < 0.625) {
    precise float z = x * x;
    y = (((((2.07101787e-3 * z - 8.09917413e-3) * z + 2.16693599e-2) * z - 5.39411269e-2) * z + 0.133331627) * z -
         0.333333284) * z * x;
    return x + y;
  }
  y = 1.0 - 2.0 / (bl_exp(2.0 * a) + 1.0);
  return bl_copy_sign(y, x);
}
)"},
    {"bl_sinh", R"(float bl_sinh(float x) {
  if (bl_is_nan(x)) return x;
  float a = abs(x);
  precise float y;
  if (a < 1.0) {
    precise float z = x * x;
    y = (((2.81743974e-6 * z + 1.98360663e-4) * z + 8.33335053e-3) * z + 0.166666672) * z * x;
    return x + y;
  }
  float e = bl_exp(a);  // infinite from 88.73 on, as in PyTorch
  y = 0.5 * e - 0.5 / e;
  return bl_copy_sign(y, x);
}
)"},
    {"bl_cosh", R"(float bl_cosh(float x) {
  if (bl_is_nan(x)) return x;
  float a = abs(x);
  float e = bl_exp(a);
  precise float y = 0.5 * e + 0.5 / e;
  return y;
}
)"},
    {"bl_atan", R"(float bl_atan(float x) {
  if (bl_is_nan(x)) return x;
  float a = abs(x);
  precise float base = 0.0;
  precise float t = a;
  if (a > 2.41421366) {
    base = 1.57079637;
    t = -1.0 / a;
  } else if (a > 0.414213568) {
    base = 0.785398185;
    t = (a - 1.0) / (a + 1.0);
  }
  precise float z = t * t;
  precise float p = ((((-6.06437176e-2 * z + 0.105888173) * z - 0.142429292) * z + 0.199984431) * z - 0.333333135) * z * t;
  precise float y = base + (p + t);
  return bl_copy_sign(y, x);
}
)"},
    {"bl_erf", R"(float bl_erf(float x) {
  if (bl_is_nan(x)) return x;
  float a = abs(x);
  if (a < 0.9375) {
    precise float z = x * x;
    precise float p = 8.29282653e-5;
    p = p * z - 8.12489365e-4;
    p = p * z + 5.19951805e-3;
    p = p * z - 2.68588178e-2;
    p = p * z + 0.11283686;
    p = p * z - 0.376126319;
    p = p * z + 0.128379166;
    precise float y = x * p;
    return x + y;
  }
  if (a > 3.95) return x < 0.0 ? -1.0 : 1.0;
  precise float q = 4.56451062e-7;
  q = q * a + 1.52128905e-5;
  q = q * a - 4.02014761e-4;
  q = q * a + 4.07094229e-3;
  q = q * a - 2.49303188e-2;
  q = q * a + 0.108056046;
  q = q * a + 0.633509636;
  q = q * a + 1.12944865;
  q = q * a - 1.63081495e-4;
  return bl_copy_sign(1.0 - bl_exp(-q), x);
}
)"},
    // C's fmod, exact: division of integers, eight quotient bits at a time.
    {"bl_fmod", R"(float bl_fmod(float x, float y) {
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  uint uy = floatBitsToUint(y) & 0x7fffffffu;
  uint sign = floatBitsToUint(x) & 0x80000000u;
  if (uy == 0u || ux >= 0x7f800000u || uy > 0x7f800000u) return bl_nan();
  if (ux < uy) return x;
  int ex = int(ux >> 23);
  int ey = int(uy >> 23);
  uint mx = ux & 0x7fffffu;
  uint my = uy & 0x7fffffu;
  if (ex == 0) ex = 1; else mx |= 0x800000u;
  if (ey == 0) ey = 1; else my |= 0x800000u;
  mx = mx % my;
  int n = ex - ey;
  while (n > 0) {
    int take = min(n, 8);
    mx = (mx << uint(take)) % my;
    n -= take;
  }
  if (mx == 0u) return uintBitsToFloat(sign);
  while (mx < 0x800000u && ey > 1) {
    mx <<= 1;
    ey -= 1;
  }
  uint bits = mx < 0x800000u ? mx : (mx & 0x7fffffu) | (uint(ey) << 23);
  return uintBitsToFloat(sign | bits);
}
)"},
    // The magnitude in double: y * log2(x) needs more digits than a float has.
    {"bl_pow", R"(float bl_pow(float x, float y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (bl_is_nan(x) || bl_is_nan(y)) return bl_nan();
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  bool negative = (floatBitsToUint(x) & 0x80000000u) != 0u;
  bool y_infinite = (floatBitsToUint(y) & 0x7fffffffu) == 0x7f800000u;
  bool whole = y_infinite || trunc(y) == y;
  bool odd = !y_infinite && whole && trunc(0.5 * y) != 0.5 * y;
  float magnitude;
  if (ux == 0u) {
    magnitude = y > 0.0 ? 0.0 : bl_inf();
  } else if (ux == 0x7f800000u) {
    magnitude = y > 0.0 ? bl_inf() : 0.0;
  } else if (y_infinite) {
    magnitude = ux == 0x3f800000u ? 1.0 : ((ux > 0x3f800000u) == (y > 0.0) ? bl_inf() : 0.0);
  } else if (negative && !whole) {
    return bl_nan();
  } else {
    int e = int(ux >> 23) - 127;
    double m;
    if (ux < 0x800000u) {
      uint u = floatBitsToUint(float(ux));
      e = int(u >> 23) - 276;
      m = double(uintBitsToFloat((u & 0x7fffffu) | 0x3f800000u));
    } else {
      m = double(uintBitsToFloat((ux & 0x7fffffu) | 0x3f800000u));
    }
    if (m >= 1.4142135623730951lf) {
      m *= 0.5lf;
      e += 1;
    }
    double s = (m - 1.0lf) / (m + 1.0lf);
    double z = s * s;
    double p = 0.24315282979539077lf;
    p = p * z + 0.26142472176278608lf;
    p = p * z + 0.32061699021949963lf;
    p = p * z + 0.41219839351651655lf;
    p = p * z + 0.57707801730072772lf;
    p = p * z + 0.96179669392421008lf;
    p = p * z + 2.8853900817779277lf;
    double t = double(y) * (double(e) + p * s);
    if (t >= 128.0lf) {
      magnitude = bl_inf();
    } else if (t < -151.0lf) {
      magnitude = 0.0;
    } else {
      double k = floor(t + 0.5lf);
      double r = t - k;
      double w = 1.0213516734607271e-07lf;
      w = w * r + 1.3259682746938686e-06lf;
      w = w * r + 1.5252631091980211e-05lf;
      w = w * r + 0.0001540343358825691lf;
      w = w * r + 0.0013333558277382335lf;
      w = w * r + 0.0096181291941471458lf;
      w = w * r + 0.055504108664131961lf;
      w = w * r + 0.24022650695639491lf;
      w = w * r + 0.69314718055995517lf;
      w = w * r + 1.0lf;
      magnitude = float(w * packDouble2x32(uvec2(0u, uint(int(k) + 1023) << 20)));
    }
  }
  return negative && odd ? -magnitude : magnitude;
}
)"},
    // x86 gives the lowest integer for what does not fit, and PyTorch shows it.
    {"bl_to_i32", R"(int bl_to_i32(float x) {
  return x >= -2147483648.0 && x < 2147483648.0 ? int(x) : int(0x80000000u);
}
)"},
    {"bl_to_i64", R"(int64_t bl_to_i64(float x) {
  const int64_t lowest = int64_t(1) << 63;
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? int64_t(x) : lowest;
}
)"},
};

}  // namespace

std::string glsl_functions(const std::vector<std::string>& names) {
  std::set<std::string_view> wanted(names.begin(), names.end());
  // Callers come later in the table, so one pass from its end finds all callees.
  for (auto it = std::rbegin(kFunctions); it != std::rend(kFunctions); ++it) {
    if (!wanted.contains(it->name)) continue;
    for (const Function& callee : kFunctions) {
      if (callee.name != it->name &&
          it->text.find(std::string(callee.name) + "(") != std::string_view::npos) {
        wanted.insert(callee.name);
      }
    }
  }
  std::string out;
  for (const Function& function : kFunctions) {
    if (wanted.contains(function.name)) out += function.text;
  }
  return out;
}

}  // namespace breakline::vulkan
