// A launch of a chunk in a device program becomes launches of its kernels, with a buffer for what they pass on; a value given
// back twice is copied. Squares of several tensors are summed tensor by tensor.
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize)' %s | FileCheck %s
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize)' %s | piper-opt | FileCheck %s

strategy.mesh @one <["dp" = 1]>

func.func private @f0(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %n = nn.rms_norm %x, %g {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %h = nn.linear %n, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %h, %h : tensor<4x8xf32>, tensor<4x8xf32>
}

// Not launched: left alone.
// CHECK: func.func private @other
// CHECK-NEXT: %y = nn.gelu
func.func private @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = nn.gelu %x : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

device.plan "train" on @one {
  // CHECK: device.kernel @sum_squares_32xf32 sum_squares {} : (memref<32xf32>) -> memref<1xf64>
  // CHECK-NEXT: device.kernel @sum_1xf64 sum {} : (memref<1xf64>, memref<1xf64>) -> memref<1xf64>
  device.kernel @squares sum_squares {} : (memref<32xf32>, memref<32xf32>) -> (memref<1xf64>)
  device.program @all for {} streams ["compute"] {
    %x = device.buffer "x" : memref<32xf32> persistent
    %g = device.buffer "g" : memref<8xf32> persistent
    %w = device.buffer "w" : memref<64xf32> persistent
    %a = device.buffer "a" : memref<32xf32>
    %b = device.buffer "b" : memref<32xf32>
    %t = device.buffer "t" : memref<1xf64>
    // CHECK: %t = device.buffer "t"
    // CHECK-NEXT: [[N:%.*]] = device.buffer "f0.3.n" : memref<32xf32>
    // CHECK-NEXT: [[S0:%.*]] = device.buffer "norm.sum_squares_32xf32.0" : memref<1xf64>
    // CHECK-NEXT: [[S1:%.*]] = device.buffer "norm.sum_squares_32xf32.1" : memref<1xf64>
    // CHECK-NEXT: device.launch @norm0 reads(%x, %g) writes([[N]]) on "compute" name "f0.3.norm0" {origin = 4}
    // CHECK-NEXT: device.launch @gemm0 reads([[N]], %w) writes(%a) on "compute" name "f0.3.gemm0" {origin = 4}
    // CHECK-NEXT: device.copy %a to %b on "compute" name "f0.3" {origin = 4}
    device.launch @f0 reads(%x, %g, %w) writes(%a, %b) on "compute" name "f0.3" {origin = 4}
    // CHECK-NEXT: device.launch @sum_squares_32xf32 reads(%a) writes([[S0]]) on "compute"
    // CHECK-NEXT: device.launch @sum_squares_32xf32 reads(%b) writes([[S1]]) on "compute"
    // CHECK-NEXT: device.launch @sum_1xf64 reads([[S0]], [[S1]]) writes(%t) on "compute"
    device.launch @squares reads(%a, %b) writes(%t) on "compute" name "norm"
  }
}
