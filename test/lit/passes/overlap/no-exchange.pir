// RUN: piper-opt %s --verify-diagnostics --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,overlap)'

// Without a division there is no exchange.
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
  // expected-error@+1 {{no exchange over "ep" stands between nodes of the graph}}
  strategy.overlap over "ep"
}
