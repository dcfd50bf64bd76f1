// Custom forms are printed as they are read; the generic form is MLIR's.
// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | FileCheck %s --check-prefix=GENERIC
// RUN: piper-opt --mlir-print-op-generic %s | piper-opt | FileCheck %s

// CHECK: func.func @f(%tokens: tensor<2x4xi32> {batch_dim = 0, role = "data"}) -> tensor<2x4x8xf32> {
// GENERIC: "func.func"() <{arg_attrs = [{piper.batch_dim = 0, piper.role = "data"}], function_type = (tensor<2x4xi32>) -> tensor<2x4x8xf32>, sym_name = "f"}> ({
func.func @f(%tokens: tensor<2x4xi32> {role = "data", batch_dim = 0}) -> tensor<2x4x8xf32> {
  // CHECK: %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<16x8xf32>
  // GENERIC: "nn.parameter"() <{init = #nn.init<normal<0.0, 0.02>>, name = "wte"}> : () -> tensor<16x8xf32>
  %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<16x8xf32>
  // CHECK: %e = nn.embedding %tokens, %wte : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %e = nn.embedding %tokens, %wte : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: %r = func.call @g(%e) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %r = func.call @g(%e) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: func.return %r : tensor<2x4x8xf32>
  func.return %r : tensor<2x4x8xf32>
}
// CHECK: func.func private @g(tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
func.func private @g(tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
