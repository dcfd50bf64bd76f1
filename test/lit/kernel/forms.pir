// Kernels read well, and their generic form is MLIR.
// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt %s | piper-opt | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | FileCheck %s --check-prefix=GENERIC

// CHECK: kernel.func @gemm0(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {kind = "gemm"} {
// GENERIC: "kernel.func"() <{
kernel.func @gemm0(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {kind = "gemm"} {
  %h = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = nn.gelu %h : tensor<4x16xf32>
  // CHECK: kernel.return %y : tensor<4x16xf32>
  // GENERIC: "kernel.return"
  kernel.return %y : tensor<4x16xf32>
}

// CHECK: kernel.func @into(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map", overwrites = array<i64: 0, 1>} {
kernel.func @into(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map", overwrites = array<i64: 0, 1>} {
  %s = nn.add %a, %b : tensor<4xf32>
  kernel.return %s : tensor<4xf32>
}

func.func @f0(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // CHECK: %y = kernel.launch @gemm0(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // GENERIC: "kernel.launch"({{.*}}) <{callee = @gemm0}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = kernel.launch @gemm0(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}
