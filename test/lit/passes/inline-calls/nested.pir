// RUN: piper-opt --pass-pipeline='builtin.module(inline-calls)' --split-input-file --verify-diagnostics %s | FileCheck %s

// A call's tags lie beneath those of what it calls. Private functions that are no longer called are gone.

// CHECK-NOT:   @gelu
// CHECK-LABEL: func.func @loss
// CHECK-NEXT:    %[[Y:.*]] = nn.gelu %a {tags = {L = 1, PP = 9}}
// CHECK-NEXT:    %[[Z:.*]] = nn.add %[[Y]], %a {tags = {PP = 0}}
// CHECK-NEXT:    func.return %[[Z]]
func.func private @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.gelu %x {tags = {PP = 9}} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @gelu(%x) {tags = {L = 1}} : (tensor<4xf32>) -> tensor<4xf32>
  %z = nn.add %y, %x : tensor<4xf32>
  func.return %z : tensor<4xf32>
}
func.func @loss(%a: tensor<4xf32>) -> tensor<4xf32> {
  %h = func.call @block(%a) {tags = {PP = 0}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %h : tensor<4xf32>
}

// -----

func.func private @even(%x: i32) -> i32 {
  // expected-note@+1 {{through this call}}
  %0 = func.call @odd(%x) : (i32) -> i32
  func.return %0 : i32
}
func.func private @odd(%x: i32) -> i32 {
  // expected-error@+1 {{@even calls itself; recursion cannot be inlined}}
  %0 = func.call @even(%x) : (i32) -> i32
  func.return %0 : i32
}
func.func @loss(%x: i32) -> i32 {
  %0 = func.call @even(%x) : (i32) -> i32
  func.return %0 : i32
}
