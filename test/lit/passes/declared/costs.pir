// A stated time is kept as it is, in the share of the shapes; of what is not known nothing is said.
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize)' %s | FileCheck %s

func.func private @timed(tensor<16x8xf32> {batch_dim = 0}, tensor<8x64xf32> {shard_dim = 1}) -> (tensor<16x8xf32> {batch_dim = 0, shard_sum})
  attributes {cost = {seconds = 8.0e-3}, vjp = {input = {bytes = 1024}}}

// A quarter of the batch, half of what is sharded.
// CHECK: kernel.func @timed_fwd({{.*}}) -> tensor<4x8xf32> attributes {cost = {seconds = 1.000000e-03}, kind = "opaque"} {
// CHECK: kernel.func @timed_dx({{.*}}) -> tensor<4x8xf32> attributes {bytes = 128, cost = {bytes = 1.280000e+02}, kind = "opaque_dx"} {
// CHECK: kernel.func @timed_dw({{.*}}) -> tensor<8x32xf32> attributes {kind = "opaque_dw"} {
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x32xf32>, %dy: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>) {
  %y = nn.opaque @timed(%x, %w) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x8xf32>
  %dx = nn.opaque_dx @timed(%x, %w, %dy) {saved = array<i64: 0, 1>, wrt = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x32xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %dw = nn.opaque_dw @timed(%x, %dy) {saved = array<i64: 0>, wrt = array<i64: 1>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x32xf32>
  func.return %y, %dx, %dw : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x32xf32>
}
