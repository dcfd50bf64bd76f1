// A model that is not written yet: four layers of attention and MLP, of which only shapes and costs are known. It can be
// planned, verified and simulated under any strategy, here zero-bubble ZB-H1 on two ranks, twice over with ZeRO-1:
//
//   piper-opt --pass pipeline examples/declared.pir
//   piper-run examples/declared.pir --compile-only -o declared.pplan
//
// Costs are for the shapes as declared, 16 sequences of 1024 tokens of width 512; a microbatch costs its share.

module @declared {
  strategy.mesh @cluster <["pp" = 2, "dp" = 2]>

  func.func private @embed(tensor<16x1024xi32> {batch_dim = 0}, tensor<32000x512xbf16>) -> (tensor<16x1024x512xbf16> {batch_dim = 0})
    attributes {cost = {flops = 0, bytes = 3.4e7}, vjp = {weight = {flops = 8.4e6, bytes = 3.4e7}, saved = {operands = [0]}}}

  // Norm, projections, attention, output projection. The weights are one flat tensor: 4 x 512 x 512.
  func.func private @attn(tensor<16x1024x512xbf16> {batch_dim = 0}, tensor<1048576xbf16>) -> (tensor<16x1024x512xbf16> {batch_dim = 0})
    attributes {cost = {flops = 5.2e10}, vjp = {input = {flops = 6.9e10}, weight = {flops = 3.4e10}}}

  // The second result is what the activation took: saved for the gradient, not differentiated.
  func.func private @mlp(tensor<16x1024x512xbf16> {batch_dim = 0}, tensor<2097152xbf16>)
    -> (tensor<16x1024x512xbf16> {batch_dim = 0}, tensor<16x1024x2048xbf16> {batch_dim = 0})
    attributes {cost = {flops = 6.9e10}, vjp = {input = {flops = 6.9e10}, weight = {flops = 6.9e10}, saved = {operands = [0, 1], results = [1]}}}

  // Loss over the vocabulary; without a batch dimension it is a sum over the batch.
  func.func private @head(tensor<16x1024x512xbf16> {batch_dim = 0}, tensor<512x32000xbf16>, tensor<16x1024xi32> {batch_dim = 0}) -> tensor<f32>
    attributes {cost = {flops = 5.4e11}, vjp = {input = {flops = 5.4e11}, weight = {flops = 5.4e11}}}

  func.func @loss(%tokens: tensor<16x1024xi32> {role = "data", batch_dim = 0},
                  %targets: tensor<16x1024xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %h0 = strategy.annotate {PP = 0} {
      %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<32000x512xbf16>
      %e = func.call @embed(%tokens, %wte) : (tensor<16x1024xi32>, tensor<32000x512xbf16>) -> tensor<16x1024x512xbf16>
      %wa0 = nn.parameter "h0.attn" init = normal<0.0, 0.02> : tensor<1048576xbf16>
      %wm0 = nn.parameter "h0.mlp" init = normal<0.0, 0.02> : tensor<2097152xbf16>
      %a0 = func.call @attn(%e, %wa0) : (tensor<16x1024x512xbf16>, tensor<1048576xbf16>) -> tensor<16x1024x512xbf16>
      %m0:2 = func.call @mlp(%a0, %wm0) : (tensor<16x1024x512xbf16>, tensor<2097152xbf16>) -> (tensor<16x1024x512xbf16>, tensor<16x1024x2048xbf16>)
      %s0 = nn.add %a0, %m0#0 : tensor<16x1024x512xbf16>
      %wa1 = nn.parameter "h1.attn" init = normal<0.0, 0.02> : tensor<1048576xbf16>
      %wm1 = nn.parameter "h1.mlp" init = normal<0.0, 0.02> : tensor<2097152xbf16>
      %a1 = func.call @attn(%s0, %wa1) : (tensor<16x1024x512xbf16>, tensor<1048576xbf16>) -> tensor<16x1024x512xbf16>
      %m1:2 = func.call @mlp(%a1, %wm1) : (tensor<16x1024x512xbf16>, tensor<2097152xbf16>) -> (tensor<16x1024x512xbf16>, tensor<16x1024x2048xbf16>)
      %s1 = nn.add %a1, %m1#0 : tensor<16x1024x512xbf16>
      strategy.yield %s1 : tensor<16x1024x512xbf16>
    } : tensor<16x1024x512xbf16>
    %loss = strategy.annotate {PP = 1} {
      %wa2 = nn.parameter "h2.attn" init = normal<0.0, 0.02> : tensor<1048576xbf16>
      %wm2 = nn.parameter "h2.mlp" init = normal<0.0, 0.02> : tensor<2097152xbf16>
      %a2 = func.call @attn(%h0, %wa2) : (tensor<16x1024x512xbf16>, tensor<1048576xbf16>) -> tensor<16x1024x512xbf16>
      %m2:2 = func.call @mlp(%a2, %wm2) : (tensor<16x1024x512xbf16>, tensor<2097152xbf16>) -> (tensor<16x1024x512xbf16>, tensor<16x1024x2048xbf16>)
      %s2 = nn.add %a2, %m2#0 : tensor<16x1024x512xbf16>
      %wa3 = nn.parameter "h3.attn" init = normal<0.0, 0.02> : tensor<1048576xbf16>
      %wm3 = nn.parameter "h3.mlp" init = normal<0.0, 0.02> : tensor<2097152xbf16>
      %a3 = func.call @attn(%s2, %wa3) : (tensor<16x1024x512xbf16>, tensor<1048576xbf16>) -> tensor<16x1024x512xbf16>
      %m3:2 = func.call @mlp(%a3, %wm3) : (tensor<16x1024x512xbf16>, tensor<2097152xbf16>) -> (tensor<16x1024x512xbf16>, tensor<16x1024x2048xbf16>)
      %s3 = nn.add %a3, %m3#0 : tensor<16x1024x512xbf16>
      %head = nn.parameter "head" init = normal<0.0, 0.02> : tensor<512x32000xbf16>
      %l = func.call @head(%s3, %head, %targets) : (tensor<16x1024x512xbf16>, tensor<512x32000xbf16>, tensor<16x1024xi32>) -> tensor<f32>
      strategy.yield %l : tensor<f32>
    } : tensor<f32>
    func.return %loss : tensor<f32>
  }

  strategy.plan @train for @loss on @cluster {
    strategy.pipeline over "pp" stages = "PP" schedule = "zb-h1" microbatches = 4
    strategy.zero over "dp" stage = 1 bucket = "25MiB"
    strategy.optimizer adamw <lr = 3.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
  }
}
