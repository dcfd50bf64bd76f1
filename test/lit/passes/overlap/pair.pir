// A pair on one rank: the forward of one microbatch computes while the backward of the other has its experts' exchange in flight.
// RUN: piper-opt %s --pass expand-directives | FileCheck %s --check-prefix=EXPAND
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,shard,update,overlap,resource,verify-dag)' | FileCheck %s
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,shard,update,overlap,resource,verify-dag,lower-to-device,memory-plan,verify-device)' | FileCheck %s --check-prefix=DEVICE

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
  strategy.overlap over "ep"
  strategy.optimizer sgd <lr = 0.1>
}

// EXPAND: strategy.split_backward {PASS = B}
// EXPAND-NEXT: strategy.resource stream "a2a" for exchange over "ep"
// EXPAND-NEXT: strategy.resource interleave over "ep"

// Two of the exchanges are issued a launch later than they could be, as Megatron-LM does.
// CHECK: dag.graph {{.*}} attributes {resources = [{over = "ep", stream = "a2a", work = ["exchange"]}]}
// CHECK-DAG: dag.all_to_all %{{.*}} over ["ep"] from 1 to 0 {after = @bi1.0}
// CHECK-DAG: dag.all_to_all %{{.*}} over ["ep"] from 0 to 1 {after = @bw1.0}
// CHECK: dag.order on {} {{\[}}[@f0.0], [@f1.0], [@f2.0], [@bi2.0], [@f0.1], [@bi1.0], [@bw1.0], [@f1.1], [@bi0.0], [@bw0.0], [@f2.1], [@bi2.1], [@bi1.1], [@bi0.1], [@bw1.1], [@bw0.1]]

// DEVICE: device.program @all for {} streams ["compute", "comm", "a2a"]
// DEVICE: name "bi2.0"
// DEVICE: device.all_to_all %bi2.0 {{.*}} on "a2a"
// DEVICE: name "f0.1"
// DEVICE: name "bi1.0"
// DEVICE: device.all_to_all %f0.1 {{.*}} on "a2a"
// DEVICE: name "bw1.0"
// DEVICE: device.all_to_all %bi1.0 {{.*}} on "a2a"
// DEVICE: name "f1.1"
// DEVICE: device.all_to_all %f1.1 {{.*}} on "a2a"
// DEVICE: name "bi0.0"
// DEVICE: name "bw0.0"
// DEVICE: name "f2.1"
// DEVICE: device.all_reduce {{.*}} on "comm"
