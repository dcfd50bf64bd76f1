// Work goes to the first stream that takes it; programs list the streams that they use, and a communicator is of one partition.
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,shard,update,resource)' | FileCheck %s
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,shard,update,resource,lower-to-device,memory-plan,verify-device)' | FileCheck %s --check-prefix=DEVICE

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
  strategy.split_backward {PASS = B}
  strategy.resource stream "a2a" for exchange over "ep"
  strategy.resource stream "weights" for compute {PASS = BW}
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["a2a"] ctas = 20
  strategy.resource partition "compute" arch = "sm_90" sms = 108 streams = ["compute", "weights"]
  strategy.optimizer sgd <lr = 0.1>
}

// CHECK: dag.graph {{.*}} attributes {resources = [
// CHECK-SAME: {over = "ep", stream = "a2a", work = ["exchange"]}
// CHECK-SAME: {filter = {PASS = "BW"}, stream = "weights", work = ["compute"]}
// CHECK-SAME: ctas = 20
// CHECK-SAME: partition = "comm"
// CHECK-SAME: partition = "compute"
// CHECK-NOT: strategy.resource

// Gradients are reduced over the same axis on another stream, so by another communicator, which no partition bounds.
// DEVICE: device.comm @ep members [{ep = 0}, {ep = 1}]
// DEVICE: device.comm @ep_1 members [{ep = 0}, {ep = 1}]
// DEVICE: device.partition @comm green 24 of 132 arch "sm_90" streams ["a2a"] comms [@ep] ctas 1 to 20
// DEVICE: device.partition @compute green 108 of 132 arch "sm_90" streams ["compute", "weights"] comms []
// DEVICE: device.program @all for {} streams ["compute", "comm", "a2a", "weights"]
// DEVICE: device.all_to_all %f0.0 {{.*}} over @ep {{.*}} on "a2a"
// DEVICE: device.launch {{.*}} on "weights" name "bw1.0"
// DEVICE: device.all_reduce {{.*}} over @ep_1 on "comm"
