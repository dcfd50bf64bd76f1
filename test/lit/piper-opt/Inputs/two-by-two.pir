// A linear model in two stages, each on two replicas.
strategy.mesh @cluster <["dp" = 2, "pp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0},
                %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %a = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    strategy.yield %a : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PP = 1} {
    %head = nn.parameter "head" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %logits = nn.linear %h, %head : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %l = nn.cross_entropy %logits, %targets {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "gpipe" microbatches = 2
  strategy.zero over "dp" stage = 1
  strategy.optimizer sgd <lr = 0.1>
}
