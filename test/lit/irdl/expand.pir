// Operations that say what they are in terms of others.
// RUN: piper-opt --load-dialect %S/Inputs/expansions.pir --pass-pipeline='builtin.module(expand-ops)' %s | FileCheck %s

// CHECK-LABEL: func.func @f
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = nn.scale %x {factor = 2.000000e+00, tags = {A}} : tensor<4xf32>
  // CHECK-NEXT: %y = nn.scale %0 {factor = 2.000000e+00, tags = {A}} : tensor<4xf32>
  %y = d.four_times %x {tags = {A}} : tensor<4xf32>
  // CHECK-NEXT: %1 = nn.scale %y {factor = 3.000000e+00} : tensor<4xf32>
  %0 = d.twice %y {by = 3.0} : tensor<4xf32>
  // CHECK-NEXT: %2 = nn.add %1, %y : tensor<4xf32>
  // CHECK-NEXT: %3 = nn.add %x, %2 : tensor<4xf32>
  %1 = "d.sum"(%x, %0, %y) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: func.return %3 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Words in strings and comments define nothing, and a group of one value leaves its own name free, as one of several does.
// CHECK-LABEL: func.func @words
func.func @words(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = nn.add %x, %x {note = "%y ="} : tensor<4xf32>
  // CHECK-NEXT: %1 = nn.scale %0 {factor = 2.000000e+00} : tensor<4xf32>
  %0 = "d.total"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: func.return %1 : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
