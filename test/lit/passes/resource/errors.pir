// What a graph does not have cannot be given to streams, nor streams to partitions.
// RUN: piper-opt %s --verify-diagnostics --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag,split-backward,split,place,order,shard,update,resource)'

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
  strategy.resource stream "a2a" for all_to_all over "ep"
  // expected-error@+1 {{nothing goes to stream "p2p"}}
  strategy.resource stream "p2p" for transfer
  // expected-error@+1 {{nothing goes to stream "again"}}
  strategy.resource stream "again" for all_to_all
  // expected-error@+1 {{there is no stream "a2b"}}
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["a2b"]
  strategy.optimizer sgd <lr = 0.1>
}
