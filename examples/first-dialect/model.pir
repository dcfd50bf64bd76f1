// A classifier with a gated layer, of the dialect in mine.pir.

module @gated {
  strategy.mesh @cluster <["pp" = 2]>

  func.func @loss(%tokens: tensor<8x16xi32> {role = "data", batch_dim = 0},
                  %targets: tensor<8x16xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %h = strategy.annotate {PP = 0} {
      %table = nn.parameter "table" init = normal<0.0, 0.1> : tensor<64x16xf32>
      %wg = nn.parameter "gate.w" init = normal<0.0, 0.1> : tensor<16x32xf32>
      %wu = nn.parameter "up.w" init = normal<0.0, 0.1> : tensor<16x32xf32>
      %e = nn.embedding %tokens, %table : (tensor<8x16xi32>, tensor<64x16xf32>) -> tensor<8x16x16xf32>
      %g = nn.linear %e, %wg : (tensor<8x16x16xf32>, tensor<16x32xf32>) -> tensor<8x16x32xf32>
      %u = nn.linear %e, %wu : (tensor<8x16x16xf32>, tensor<16x32xf32>) -> tensor<8x16x32xf32>
      %a = mine.swiglu %g, %u : tensor<8x16x32xf32>
      strategy.yield %a : tensor<8x16x32xf32>
    } : tensor<8x16x32xf32>
    %loss = strategy.annotate {PP = 1} {
      %head = nn.parameter "head" init = normal<0.0, 0.1> : tensor<32x64xf32>
      %logits = nn.linear %h, %head : (tensor<8x16x32xf32>, tensor<32x64xf32>) -> tensor<8x16x64xf32>
      %l = nn.cross_entropy %logits, %targets {denominator = 128} : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> tensor<f32>
      strategy.yield %l : tensor<f32>
    } : tensor<f32>
    func.return %loss : tensor<f32>
  }

  strategy.plan @train for @loss on @cluster {
    strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
    strategy.optimizer sgd <lr = 0.1>
  }
}
