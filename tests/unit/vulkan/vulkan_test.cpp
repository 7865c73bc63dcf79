// SPDX-License-Identifier: GPL-3.0-or-later
// The device layer: content hashes, shaders, sub-allocation, programs, life and death of the device. Skipped,
// with the reason, where there is no Vulkan device; run under the validation layer.
#include <QtTest>
#include <cstring>

#include "core/vulkan/device.h"
#include "core/vulkan/device_ops.h"
#include "core/vulkan/emit.h"
#include "core/vulkan/fingerprint.h"
#include "core/vulkan/glsl_math.h"
#include "core/vulkan/memory.h"
#include "core/vulkan/program.h"
#include "core/vulkan/shader.h"

using namespace breakline;
using namespace breakline::vulkan;

namespace {

/// out[i] = in[i] + 1 over `count` floats.
Dispatch add_one(int in, int out, int count) {
  Dispatch d;
  d.name = "add_one";
  d.glsl =
      "#version 450\nlayout(local_size_x = 64) in;\nlayout(push_constant) uniform P { uint at[2]; } p;\n"
      "layout(set = 0, binding = 0, std430) readonly buffer A { float d[]; } a;\n"
      "layout(set = 0, binding = 1, std430) writeonly buffer B { float d[]; } b;\n"
      "void main() { uint i = gl_GlobalInvocationID.x; if (i < " +
      std::to_string(count) + "u) b.d[p.at[1] + i] = a.d[p.at[0] + i] + 1.0; }\n";
  d.operands = {{in, 0, false}, {out, 0, true}};
  d.groups_x = static_cast<uint32_t>((count + 63) / 64);
  return d;
}

}  // namespace

class VulkanTest : public QObject {
  Q_OBJECT
 private:
  std::shared_ptr<Device> device() { return Device::get(); }

 private slots:
  void initTestCase() { set_vulkan_options({.validation = true}); }

  void fingerprints_tell_small_changes() {
    std::vector<float> data(1000, 1.5f);
    Fingerprint before = fingerprint(data.data(), data.size() * 4);
    QCOMPARE(fingerprint(data.data(), data.size() * 4), before);
    for (size_t i : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{999}}) {
      data[i] = -data[i];
      QVERIFY(fingerprint(data.data(), data.size() * 4) != before);
      // A sign in the same lane of the next step must not cancel it.
      if (i + 16 < data.size()) {
        data[i + 16] = -data[i + 16];
        QVERIFY(fingerprint(data.data(), data.size() * 4) != before);
        data[i + 16] = -data[i + 16];
      }
      data[i] = -data[i];
    }
    QVERIFY(fingerprint(data.data(), 3) != fingerprint(data.data(), 4));
    std::swap(data[3], data[5]);
    QCOMPARE(fingerprint(data.data(), data.size() * 4), before);
    data[3] = 2;
    Fingerprint three = fingerprint(data.data(), data.size() * 4);
    std::swap(data[3], data[5]);
    QVERIFY(fingerprint(data.data(), data.size() * 4) != three);
  }

  void shaders_compile_or_say_why() {
    auto bad = compile_glsl("#version 450\nvoid main() { nonsense; }", {});
    QVERIFY(!bad.ok());
    QVERIFY(bad.error().message.find("nonsense") != std::string::npos);
    std::string good = "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n";
    auto plain = compile_glsl(good, {});
    auto preserving = compile_glsl(good, {.keeps_nan_inf = true});
    QVERIFY(plain.ok() && preserving.ok());
    // OpCapability SignedZeroInfNanPreserve right after the first capability; 2 + 7 + 4 words more in all.
    QCOMPARE(preserving->size(), plain->size() + 13);
    QCOMPARE((*preserving)[7], (2u << 16) | 17u);
    QCOMPARE((*preserving)[8], 4466u);
  }

  void math_text_has_callees_first() {
    std::string text = glsl_functions({"bl_tanh"});
    QVERIFY(text.find("float bl_exp(") < text.find("float bl_tanh("));
    QVERIFY(text.find("float bl_exp_scaled(") < text.find("float bl_exp("));
    QVERIFY(text.find("bl_sin") == std::string::npos);
  }

  void extents() {
    graph::TensorMeta meta;
    meta.sizes = {3, 4};
    meta.strides = {8, 2};
    QCOMPARE(extent(meta), int64_t{23});
    QVERIFY(!is_dense(meta));
    meta.strides = {1, 3};
    QVERIFY(is_dense(meta));
    meta.sizes = {3, 0};
    QCOMPARE(extent(meta), int64_t{0});
    meta.sizes = {5, 3};
    meta.strides = {0, 1};
    QVERIFY(!is_dense(meta));
  }

  void memory_is_shared_out_and_joined() {
    auto d = device();
    if (!d) QSKIP(vulkan_info().reason.c_str());
    std::lock_guard lock(d->mutex);
    Memory& memory = d->memory();
    Buffer a = memory.allocate(1000, MemoryKind::kDevice);
    Buffer b = memory.allocate(1000, MemoryKind::kDevice);
    Buffer c = memory.allocate(1000, MemoryKind::kDevice);
    int64_t blocks = memory.block_bytes();
    QCOMPARE(a.handle(), b.handle());
    QCOMPARE(a.bytes(), int64_t{1024});
    QVERIFY(a.offset() + a.bytes() <= b.offset());
    int64_t first = a.offset();
    b.reset();
    a.reset();
    Buffer joined = memory.allocate(2048, MemoryKind::kDevice);
    QCOMPARE(joined.offset(), first);
    Buffer large = memory.allocate(int64_t{20} << 20, MemoryKind::kDevice);
    QVERIFY(memory.block_bytes() > blocks);
    large.reset();
    QCOMPARE(memory.block_bytes(), blocks);
    if (memory.unified()) QVERIFY(c.mapped() != nullptr);
  }

  void too_much_memory_is_an_error() {
    auto d = device();
    if (!d) QSKIP(vulkan_info().reason.c_str());
    std::lock_guard lock(d->mutex);
    QVERIFY_EXCEPTION_THROWN((void)d->memory().allocate(int64_t{1} << 45, MemoryKind::kDevice), VulkanError);
    Buffer after = d->memory().allocate(64, MemoryKind::kDevice);
    QVERIFY(bool(after));
  }

  void a_program_uploads_runs_and_downloads() {
    auto d = device();
    if (!d) QSKIP(vulkan_info().reason.c_str());
    constexpr int kCount = 1000;
    auto desc = std::make_shared<ProgramDesc>();
    desc->roots = {{0, kCount * 4, true, false},
                   {1, kCount * 4, false, false},
                   {2, kCount * 4, false, false},
                   {3, kCount * 4, false, false}};
    Batch batch;
    batch.uploads = {0};
    batch.dispatches = {add_one(0, 1, kCount), add_one(1, 2, kCount), add_one(2, 3, kCount)};
    batch.downloads = {3};
    desc->batches = {batch};
    auto program = Program::make(*d, desc);
    Program::Frame* frame = program->acquire();
    std::vector<float> in(kCount), out(kCount);
    void* target = out.data();
    for (int call = 0; call < 4; call++) {
      for (int i = 0; i < kCount; i++) in[static_cast<size_t>(i)] = static_cast<float>(i + call);
      HostSource source{in.data(), kCount * 4, 7};  // the version never moves: the content must decide
      program->run(frame, 0, {&source, 1}, {&target, 1});
      for (int i = 0; i < kCount; i++)
        QCOMPARE(out[static_cast<size_t>(i)], static_cast<float>(i + call + 3));
    }
    program->release(frame);
    QVERIFY(vulkan_stats().stale_retries >= 1);
    {
      std::lock_guard lock(d->mutex);
      d->drop(program.get());
      program.reset();
    }
  }

  void matmul_text_differs_by_variant() {
    DeviceTraits traits;
    traits.barriers = false;
    MatmulShape shape{
        .m = 64, .n = 64, .k = 64, .a_m = 64, .a_k = 1, .b_k = 1, .b_n = 64, .out_m = 64, .out_n = 1};
    QVERIFY(emit_matmul(shape, traits).glsl.find("barrier()") == std::string::npos);
    traits.barriers = true;
    QVERIFY(emit_matmul(shape, traits).glsl.find("barrier()") != std::string::npos);
  }

  void nothing_is_left_behind() {
    shutdown_vulkan();
    QVERIFY(Device::current() == nullptr);
    for (const std::string& message : validation_messages()) QFAIL(message.c_str());
  }
};

QTEST_GUILESS_MAIN(VulkanTest)
#include "vulkan_test.moc"
