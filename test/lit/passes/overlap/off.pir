// With `off` exchanges have their stream, and the members of a pair run as they are given.
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,shard,update,resource,verify-dag,lower-to-device,memory-plan,verify-device)' | FileCheck %s

strategy.mesh @cluster <["ep" = 2]>

func.func @loss(%x: tensor<8x4x6xf32> {role = "data", batch_dim = 0}, %t: tensor<8x4xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %s = strategy.annotate {PP = 0, PART = "attn"} {
    %w = nn.parameter "mix" init = normal<0.0, 0.3> : tensor<6x6xf32>
    %q = nn.linear %x, %w : (tensor<8x4x6xf32>, tensor<6x6xf32>) -> tensor<8x4x6xf32>
    %d = nn.dispatch %q {experts = 2} : (tensor<8x4x6xf32>) -> tensor<2x8x2x6xf32>
    strategy.yield %d : tensor<2x8x2x6xf32>
  } : tensor<2x8x2x6xf32>
  %m = strategy.annotate {PP = 0, PART = "experts"} {
    %up = nn.parameter "up" init = normal<0.0, 0.3> : tensor<2x6x6xf32>
    %u = nn.expert_linear %s, %up : (tensor<2x8x2x6xf32>, tensor<2x6x6xf32>) -> tensor<2x8x2x6xf32>
    strategy.yield %u : tensor<2x8x2x6xf32>
  } : tensor<2x8x2x6xf32>
  %loss = strategy.annotate {PP = 0, PART = "out"} {
    %c = nn.combine %m : (tensor<2x8x2x6xf32>) -> tensor<8x4x6xf32>
    %l = nn.cross_entropy %c, %t {denominator = 32} : (tensor<8x4x6xf32>, tensor<8x4xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {}
  strategy.order stages = "PP" on {} "0F0 (0F1 | 0B0) 0B1"
  strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}
  strategy.replicate over "ep"
  strategy.overlap over "ep" off
  strategy.optimizer sgd <lr = 0.1>
}

// CHECK: device.program @all for {} streams ["compute", "comm", "a2a"]
// CHECK: name "f0.1"
// CHECK: device.all_to_all %f0.1 {{.*}} on "a2a"
// CHECK: name "f1.1"
// CHECK: name "f2.1"
// CHECK: name "bi2.0"
// CHECK: name "bi1.0"
// CHECK: name "bi0.0"
// CHECK: name "bw1.0"
// CHECK: name "bw0.0"
// CHECK: name "bi2.1"
