// What a declaration does not name as batch or shard cannot be divided.
// RUN: not piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split)' %s 2>&1 | FileCheck %s

strategy.mesh @m <["pp" = 1]>
func.func private @f(tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<f32> attributes {cost = {flops = 1.0}}
func.func @loss(%x: tensor<4x8xf32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %l = strategy.annotate {PP = 0} {
    %w = nn.parameter "w" init = zeros : tensor<8x8xf32>
    // CHECK: error: the batch cannot be divided here: operand 'operands' of 'nn.opaque' cannot be split along its dimension *0: '@f' is only declared, and not with this as batch_dim or shard_dim
    // CHECK-NEXT: --> {{.*}}not-divided.pir:[[#@LINE+1]]:
    %y = func.call @f(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<f32>
    strategy.yield %y : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.optimizer sgd <lr = 0.1>
}
