// The layers of ../mlp.pir on two replicas that share the parameters out (ZeRO, stage 3): they are gathered where they are used. What the pages
// on first passes run on.

module @step {
  strategy.mesh @cluster <["dp" = 2]>

  func.func @loss(%tokens: tensor<8x16xi32> {role = "data", batch_dim = 0},
                  %targets: tensor<8x16xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %h = strategy.annotate {PP = 0} {
      %table = nn.parameter "table" init = normal<0.0, 0.1> : tensor<256x32xf32>
      %w = nn.parameter "hidden.w" init = normal<0.0, 0.1> : tensor<32x64xf32>
      %b = nn.parameter "hidden.b" init = zeros : tensor<64xf32>
      %e = nn.embedding %tokens, %table : (tensor<8x16xi32>, tensor<256x32xf32>) -> tensor<8x16x32xf32>
      %z = nn.linear %e, %w, %b : (tensor<8x16x32xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<8x16x64xf32>
      %a = nn.gelu %z : tensor<8x16x64xf32>
      strategy.yield %a : tensor<8x16x64xf32>
    } : tensor<8x16x64xf32>
    %loss = strategy.annotate {PP = 1} {
      %head = nn.parameter "head" init = normal<0.0, 0.1> : tensor<64x256xf32>
      %logits = nn.linear %h, %head : (tensor<8x16x64xf32>, tensor<64x256xf32>) -> tensor<8x16x256xf32>
      %l = nn.cross_entropy %logits, %targets {denominator = 128} : (tensor<8x16x256xf32>, tensor<8x16xi32>) -> tensor<f32>
      strategy.yield %l : tensor<f32>
    } : tensor<f32>
    func.return %loss : tensor<f32>
  }

  strategy.plan @train for @loss on @cluster {
    strategy.zero over "dp" stage = 3 bucket = "64KiB"
    strategy.optimizer sgd <lr = 0.1>
  }
}
