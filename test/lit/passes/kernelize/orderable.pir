// Groups that would have to run both before and after another are not made.
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize)' %s | FileCheck %s

// The sum is a factor of the product that it would be fused with.
// CHECK-LABEL: func.func @factor
// CHECK-NEXT: %s = kernel.launch @map0(%a, %b)
// CHECK-NEXT: %t = kernel.launch @gemm0(%s, %w, %s)
// CHECK-NEXT: func.return %t
func.func @factor(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %s = nn.add %a, %b : tensor<4x8xf32>
  %p = nn.linear %s, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %t = nn.add %s, %p : tensor<4x8xf32>
  func.return %t : tensor<4x8xf32>
}

// %u needs %q only through the group of %r, which grows by %v after %u used %r.
// CHECK-LABEL: func.func @grown
// CHECK: %q = kernel.launch
// CHECK: %r, %v = kernel.launch
// CHECK: %z = kernel.launch
// CHECK: func.return %v, %z
func.func @grown(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %r = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %n = nn.rms_norm %r, %g {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %u = nn.linear %n, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %q = nn.linear %y, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %o = nn.rms_norm %q, %g {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %v = nn.add %r, %o : tensor<4x8xf32>
  %z = nn.add %q, %u : tensor<4x8xf32>
  func.return %v, %z : tensor<4x8xf32>, tensor<4x8xf32>
}
