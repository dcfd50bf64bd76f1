// llama3-405b: 6 layers, 23.3e9 parameters, on 8 devices; 8 sequences of 8192 tokens a step. Written by piper-models.
strategy.mesh @cluster <["pp" = 2, "dp" = 2, "tp" = 2]>

func.func private @embed(tensor<8x8192xi32> {batch_dim = 0}, tensor<128256x16384xbf16>) -> (tensor<8x8192x16384xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @attn(tensor<8x8192x16384xbf16> {batch_dim = 0}, tensor<570441728xbf16> {shard_dim = 0}) -> (tensor<8x8192x16384xbf16> {batch_dim = 0, shard_sum})
  attributes {cost = {flops = 9.2361e13}, vjp = {input = {flops = 1.1875e14}, weight = {flops = 7.4767e13}}}
func.func private @mlp(tensor<8x8192x16384xbf16> {batch_dim = 0}, tensor<2617262080xbf16> {shard_dim = 0}) -> (tensor<8x8192x16384xbf16> {batch_dim = 0, shard_sum})
  attributes {cost = {flops = 3.4305e14}, vjp = {input = {flops = 3.4305e14}, weight = {flops = 3.4305e14}}}
func.func private @head(tensor<8x8192x16384xbf16> {batch_dim = 0}, tensor<128256x16384xbf16>, tensor<8x8192xi32> {batch_dim = 0}) -> (tensor<f32>)
  attributes {cost = {flops = 2.7543e14}, vjp = {input = {flops = 2.7543e14}, weight = {flops = 2.7543e14}}}

func.func @loss(%tokens: tensor<8x8192xi32> {role = "data", batch_dim = 0}, %targets: tensor<8x8192xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h0 = strategy.annotate {PP = 0, PART = "embed"} {
    %w = nn.parameter "embed" init = normal<0.0, 0.02> : tensor<128256x16384xbf16>
    %y = func.call @embed(%tokens, %w) : (tensor<8x8192xi32>, tensor<128256x16384xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %a0 = strategy.annotate {PP = 0, LAYER = 0, PART = "attn"} {
    %w = nn.parameter "l0.attn" init = normal<0.0, 0.02> : tensor<570441728xbf16>
    %y = func.call @attn(%h0, %w) : (tensor<8x8192x16384xbf16>, tensor<570441728xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %r0 = strategy.annotate {PP = 0, LAYER = 0, PART = "residual"} {
    %y = nn.add %h0, %a0 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %m0 = strategy.annotate {PP = 0, LAYER = 0, PART = "mlp"} {
    %w = nn.parameter "l0.mlp" init = normal<0.0, 0.02> : tensor<2617262080xbf16>
    %y = func.call @mlp(%r0, %w) : (tensor<8x8192x16384xbf16>, tensor<2617262080xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %h1 = strategy.annotate {PP = 0, LAYER = 0, PART = "tail"} {
    %y = nn.add %r0, %m0 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %a1 = strategy.annotate {PP = 1, LAYER = 1, PART = "attn"} {
    %w = nn.parameter "l1.attn" init = normal<0.0, 0.02> : tensor<570441728xbf16>
    %y = func.call @attn(%h1, %w) : (tensor<8x8192x16384xbf16>, tensor<570441728xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %r1 = strategy.annotate {PP = 1, LAYER = 1, PART = "residual"} {
    %y = nn.add %h1, %a1 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %m1 = strategy.annotate {PP = 1, LAYER = 1, PART = "mlp"} {
    %w = nn.parameter "l1.mlp" init = normal<0.0, 0.02> : tensor<2617262080xbf16>
    %y = func.call @mlp(%r1, %w) : (tensor<8x8192x16384xbf16>, tensor<2617262080xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %h2 = strategy.annotate {PP = 1, LAYER = 1, PART = "tail"} {
    %y = nn.add %r1, %m1 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %a2 = strategy.annotate {PP = 1, LAYER = 2, PART = "attn"} {
    %w = nn.parameter "l2.attn" init = normal<0.0, 0.02> : tensor<570441728xbf16>
    %y = func.call @attn(%h2, %w) : (tensor<8x8192x16384xbf16>, tensor<570441728xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %r2 = strategy.annotate {PP = 1, LAYER = 2, PART = "residual"} {
    %y = nn.add %h2, %a2 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %m2 = strategy.annotate {PP = 1, LAYER = 2, PART = "mlp"} {
    %w = nn.parameter "l2.mlp" init = normal<0.0, 0.02> : tensor<2617262080xbf16>
    %y = func.call @mlp(%r2, %w) : (tensor<8x8192x16384xbf16>, tensor<2617262080xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %h3 = strategy.annotate {PP = 1, LAYER = 2, PART = "tail"} {
    %y = nn.add %r2, %m2 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %a3 = strategy.annotate {PP = 2, LAYER = 3, PART = "attn"} {
    %w = nn.parameter "l3.attn" init = normal<0.0, 0.02> : tensor<570441728xbf16>
    %y = func.call @attn(%h3, %w) : (tensor<8x8192x16384xbf16>, tensor<570441728xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %r3 = strategy.annotate {PP = 2, LAYER = 3, PART = "residual"} {
    %y = nn.add %h3, %a3 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %m3 = strategy.annotate {PP = 2, LAYER = 3, PART = "mlp"} {
    %w = nn.parameter "l3.mlp" init = normal<0.0, 0.02> : tensor<2617262080xbf16>
    %y = func.call @mlp(%r3, %w) : (tensor<8x8192x16384xbf16>, tensor<2617262080xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %h4 = strategy.annotate {PP = 2, LAYER = 3, PART = "tail"} {
    %y = nn.add %r3, %m3 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %a4 = strategy.annotate {PP = 2, LAYER = 4, PART = "attn"} {
    %w = nn.parameter "l4.attn" init = normal<0.0, 0.02> : tensor<570441728xbf16>
    %y = func.call @attn(%h4, %w) : (tensor<8x8192x16384xbf16>, tensor<570441728xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %r4 = strategy.annotate {PP = 2, LAYER = 4, PART = "residual"} {
    %y = nn.add %h4, %a4 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %m4 = strategy.annotate {PP = 2, LAYER = 4, PART = "mlp"} {
    %w = nn.parameter "l4.mlp" init = normal<0.0, 0.02> : tensor<2617262080xbf16>
    %y = func.call @mlp(%r4, %w) : (tensor<8x8192x16384xbf16>, tensor<2617262080xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %h5 = strategy.annotate {PP = 2, LAYER = 4, PART = "tail"} {
    %y = nn.add %r4, %m4 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %a5 = strategy.annotate {PP = 3, LAYER = 5, PART = "attn"} {
    %w = nn.parameter "l5.attn" init = normal<0.0, 0.02> : tensor<570441728xbf16>
    %y = func.call @attn(%h5, %w) : (tensor<8x8192x16384xbf16>, tensor<570441728xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %r5 = strategy.annotate {PP = 3, LAYER = 5, PART = "residual"} {
    %y = nn.add %h5, %a5 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %m5 = strategy.annotate {PP = 3, LAYER = 5, PART = "mlp"} {
    %w = nn.parameter "l5.mlp" init = normal<0.0, 0.02> : tensor<2617262080xbf16>
    %y = func.call @mlp(%r5, %w) : (tensor<8x8192x16384xbf16>, tensor<2617262080xbf16>) -> tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %h6 = strategy.annotate {PP = 3, LAYER = 5, PART = "tail"} {
    %y = nn.add %r5, %m5 : tensor<8x8192x16384xbf16>
    strategy.yield %y : tensor<8x8192x16384xbf16>
  } : tensor<8x8192x16384xbf16>
  %loss = strategy.annotate {PP = 3, PART = "head"} {
    %w = nn.parameter "head" init = normal<0.0, 0.02> : tensor<128256x16384xbf16>
    %y = func.call @head(%h6, %w, %targets) : (tensor<8x8192x16384xbf16>, tensor<128256x16384xbf16>, tensor<8x8192xi32>) -> tensor<f32>
    strategy.yield %y : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "interleaved-1f1b" microbatches = 4
  strategy.shard {PART = attn} over "tp" parameters = {"*" = 0}
  strategy.shard {PART = mlp} over "tp" parameters = {"*" = 0}
  strategy.replicate over "dp"
  strategy.optimizer adamw <lr = 1.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
