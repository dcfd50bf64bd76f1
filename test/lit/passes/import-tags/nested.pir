// RUN: piper-opt --pass-pipeline='builtin.module(import-tags)' %s | FileCheck %s

// Annotations nest; the inner value of a tag wins.

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    %[[A:.*]] = nn.gelu %x {tags = {PP = 0, kind = "outer"}}
// CHECK-NEXT:    %[[B:.*]] = nn.gelu %[[A]] {tags = {PP = 0, kind = "inner"}}
// CHECK-NEXT:    func.return %[[B]]
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = strategy.annotate {PP = 0, kind = "outer"} {
    %0 = nn.gelu %x : tensor<4xf32>
    %1 = strategy.annotate {kind = "inner"} {
      %2 = nn.gelu %0 : tensor<4xf32>
      strategy.yield %2 : tensor<4xf32>
    } : tensor<4xf32>
    strategy.yield %1 : tensor<4xf32>
  } : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
