// gpt3-175b: 2 layers, 4.3e9 parameters, on 4 devices; 8 sequences of 2048 tokens a step. Written by piper-models.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>

func.func private @embed(tensor<8x2048xi32> {batch_dim = 0}, tensor<51200x12288xbf16>) -> (tensor<8x2048x12288xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @attn(tensor<8x2048x12288xbf16> {batch_dim = 0}, tensor<603992064xbf16>) -> (tensor<8x2048x12288xbf16> {batch_dim = 0}, tensor<8x2048x49152xbf16> {batch_dim = 0})
  attributes {cost = {flops = 2.0616e13}, vjp = {input = {flops = 2.1854e13}, weight = {flops = 1.9791e13}, saved = {operands = [0, 1], results = [1]}}}
func.func private @mlp(tensor<8x2048x12288xbf16> {batch_dim = 0}, tensor<1207971840xbf16>) -> (tensor<8x2048x12288xbf16> {batch_dim = 0}, tensor<8x2048x49152xbf16> {batch_dim = 0})
  attributes {cost = {flops = 3.9582e13}, vjp = {input = {flops = 3.9582e13}, weight = {flops = 3.9582e13}, saved = {operands = [0, 1], results = [1]}}}
func.func private @head(tensor<8x2048x12288xbf16> {batch_dim = 0}, tensor<51200x12288xbf16>, tensor<8x2048xi32> {batch_dim = 0}) -> (tensor<f32>)
  attributes {cost = {flops = 2.0616e13}, vjp = {input = {flops = 2.0616e13}, weight = {flops = 2.0616e13}}}

func.func @loss(%tokens: tensor<8x2048xi32> {role = "data", batch_dim = 0}, %targets: tensor<8x2048xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h0 = strategy.annotate {PP = 0, PART = "embed"} {
    %w = nn.parameter "embed" init = normal<0.0, 0.02> : tensor<51200x12288xbf16>
    %y = func.call @embed(%tokens, %w) : (tensor<8x2048xi32>, tensor<51200x12288xbf16>) -> tensor<8x2048x12288xbf16>
    strategy.yield %y : tensor<8x2048x12288xbf16>
  } : tensor<8x2048x12288xbf16>
  %a0 = strategy.annotate {PP = 0, LAYER = 0, PART = "attn"} {
    %w = nn.parameter "l0.attn" init = normal<0.0, 0.02> : tensor<603992064xbf16>
    %y:2 = func.call @attn(%h0, %w) : (tensor<8x2048x12288xbf16>, tensor<603992064xbf16>) -> (tensor<8x2048x12288xbf16>, tensor<8x2048x49152xbf16>)
    strategy.yield %y#0 : tensor<8x2048x12288xbf16>
  } : tensor<8x2048x12288xbf16>
  %h1 = strategy.annotate {PP = 0, LAYER = 0, PART = "mlp"} {
    %w = nn.parameter "l0.mlp" init = normal<0.0, 0.02> : tensor<1207971840xbf16>
    %y:2 = func.call @mlp(%a0, %w) : (tensor<8x2048x12288xbf16>, tensor<1207971840xbf16>) -> (tensor<8x2048x12288xbf16>, tensor<8x2048x49152xbf16>)
    strategy.yield %y#0 : tensor<8x2048x12288xbf16>
  } : tensor<8x2048x12288xbf16>
  %a1 = strategy.annotate {PP = 1, LAYER = 1, PART = "attn"} {
    %w = nn.parameter "l1.attn" init = normal<0.0, 0.02> : tensor<603992064xbf16>
    %y:2 = func.call @attn(%h1, %w) : (tensor<8x2048x12288xbf16>, tensor<603992064xbf16>) -> (tensor<8x2048x12288xbf16>, tensor<8x2048x49152xbf16>)
    strategy.yield %y#0 : tensor<8x2048x12288xbf16>
  } : tensor<8x2048x12288xbf16>
  %h2 = strategy.annotate {PP = 1, LAYER = 1, PART = "mlp"} {
    %w = nn.parameter "l1.mlp" init = normal<0.0, 0.02> : tensor<1207971840xbf16>
    %y:2 = func.call @mlp(%a1, %w) : (tensor<8x2048x12288xbf16>, tensor<1207971840xbf16>) -> (tensor<8x2048x12288xbf16>, tensor<8x2048x49152xbf16>)
    strategy.yield %y#0 : tensor<8x2048x12288xbf16>
  } : tensor<8x2048x12288xbf16>
  %loss = strategy.annotate {PP = 1, PART = "head"} {
    %w = nn.parameter "embed" init = normal<0.0, 0.02> : tensor<51200x12288xbf16>
    %y = func.call @head(%h2, %w, %targets) : (tensor<8x2048x12288xbf16>, tensor<51200x12288xbf16>, tensor<8x2048xi32>) -> tensor<f32>
    strategy.yield %y : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "zb-h1" microbatches = 4
  strategy.zero over "dp" stage = 1
  strategy.optimizer adamw <lr = 1.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
