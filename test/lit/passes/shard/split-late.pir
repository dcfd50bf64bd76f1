// What is exchanged along the batch is exchanged within a microbatch: the batch is split before.
// RUN: piper-opt %s --verify-diagnostics --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag,shard,split)'

strategy.mesh @cluster <["ep" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PART = "in"} {
    %w = nn.parameter "in" init = normal<0.0, 0.1> : tensor<4x6xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    strategy.yield %y : tensor<8x6xf32>
  } : tensor<8x6xf32>
  %m = strategy.annotate {PART = "mid"} {
    %v = nn.parameter "mid" init = normal<0.0, 0.1> : tensor<6x4xf32>
    // expected-note@+1 {{'dag.all_to_all' stands here}}
    %z = nn.linear %h, %v : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    strategy.yield %z : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %l = nn.cross_entropy %m, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{the batch is divided over a mesh axis with exchanges in it and cannot be split any more}}
  strategy.split "MB" into 2
  strategy.shard {PART = mid} over "ep" parameters = {"*" = 0}
  strategy.replicate over "ep"
  strategy.optimizer sgd <lr = 0.1>
}
