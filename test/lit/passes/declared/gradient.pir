// The gradient of a declaration in two halves: activations and parameters. What is saved is said; the weight half reads no
// parameter.
// RUN: piper-opt --pass-pipeline='builtin.module(inline-calls,autodiff)' %s | FileCheck %s

func.func private @both(tensor<4x8xf32> {batch_dim = 0}, tensor<4x8xf32> {batch_dim = 0}, tensor<8x8xf32>) -> (tensor<4x8xf32> {batch_dim = 0}, tensor<4x2xf32> {batch_dim = 0})
  attributes {cost = {flops = 1024}, vjp = {input = {flops = 1024}, weight = {seconds = 1.0e-6}, saved = {operands = [1, 2], results = [0, 1]}}}
func.func private @sum(tensor<4x8xf32> {batch_dim = 0}) -> tensor<f32> attributes {cost = {}}

func.func @loss(%x: tensor<4x8xf32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %w = nn.parameter "w" init = zeros : tensor<8x8xf32>
  %v = nn.parameter "v" init = zeros : tensor<8x8xf32>
  // Nobody wants the gradient of data.
  // CHECK: %a:2 = nn.opaque @both(%x, %x, %w)
  %a:2 = func.call @both(%x, %x, %w) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  // CHECK: %b:2 = nn.opaque @both(%a#0, %x, %v)
  %b:2 = func.call @both(%a#0, %x, %v) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  // CHECK: %l = nn.opaque @sum(%b#0)
  %l = func.call @sum(%b#0) : (tensor<4x8xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
  // CHECK: %d_l = nn.constant
  // CHECK-NEXT: %d_b = nn.opaque_dx @sum(%b#0, %d_l) {pass = "BI", saved = array<i64: 0>, wrt = array<i64: 0>}
  // CHECK-NEXT: %d_a = nn.opaque_dx @both(%x, %v, %b#0, %b#1, %d_b) {pass = "BI", saved = array<i64: 1, 2, 3, 4>, wrt = array<i64: 0>}
  // CHECK-NEXT: %d_v = nn.opaque_dw @both(%x, %b#0, %b#1, %d_b) {pass = "BW", saved = array<i64: 1, 3, 4>, wrt = array<i64: 2>}
  // CHECK-NEXT: %d_w = nn.opaque_dw @both(%x, %a#0, %a#1, %d_a)
  // CHECK-NEXT: func.return %l, %d_w, %d_v
}
