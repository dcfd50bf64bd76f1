// qwen3-30b-a3b: 2 layers, 1.9e9 parameters, on 8 devices; 16 sequences of 4096 tokens a step. Written by piper-models.
strategy.mesh @cluster <["pp" = 2, "ep" = 4]>

func.func private @embed(tensor<16x4096xi32> {batch_dim = 0}, tensor<151936x2048xbf16>) -> (tensor<16x4096x2048xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @attn(tensor<16x4096x2048xbf16> {batch_dim = 0}, tensor<18876416xbf16>) -> (tensor<16x4096x2048xbf16> {batch_dim = 0}, tensor<16x4096x9216xbf16> {batch_dim = 0})
  attributes {cost = {flops = 4.6735e12}, vjp = {input = {flops = 7.9728e12}, weight = {flops = 2.4739e12}, saved = {operands = [0, 1], results = [1]}}}
func.func private @route(tensor<16x4096x2048xbf16> {batch_dim = 0}, tensor<264192xbf16>) -> (tensor<128x16x256x2048xbf16> {batch_dim = 1})
  attributes {cost = {flops = 3.4360e10}, vjp = {input = {flops = 3.4360e10}, weight = {flops = 3.4360e10}}}
func.func private @experts(tensor<128x16x256x2048xbf16> {batch_dim = 1, shard_dim = 0}, tensor<128x4718592xbf16> {shard_dim = 0}) -> (tensor<128x16x256x2048xbf16> {batch_dim = 1, shard_dim = 0}, tensor<128x16x256x1536xbf16> {batch_dim = 1, shard_dim = 0})
  attributes {cost = {flops = 4.9478e12}, vjp = {input = {flops = 4.9478e12}, weight = {flops = 4.9478e12}, saved = {operands = [0, 1], results = [1]}}}
func.func private @combine(tensor<16x4096x2048xbf16> {batch_dim = 0}, tensor<128x16x256x2048xbf16> {batch_dim = 1}) -> (tensor<16x4096x2048xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @head(tensor<16x4096x2048xbf16> {batch_dim = 0}, tensor<151936x2048xbf16>, tensor<16x4096xi32> {batch_dim = 0}) -> (tensor<f32>)
  attributes {cost = {flops = 4.0785e13}, vjp = {input = {flops = 4.0785e13}, weight = {flops = 4.0785e13}}}

func.func @loss(%tokens: tensor<16x4096xi32> {role = "data", batch_dim = 0}, %targets: tensor<16x4096xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h0 = strategy.annotate {PP = 0, PART = "embed"} {
    %w = nn.parameter "embed" init = normal<0.0, 0.02> : tensor<151936x2048xbf16>
    %y = func.call @embed(%tokens, %w) : (tensor<16x4096xi32>, tensor<151936x2048xbf16>) -> tensor<16x4096x2048xbf16>
    strategy.yield %y : tensor<16x4096x2048xbf16>
  } : tensor<16x4096x2048xbf16>
  %a0, %s0 = strategy.annotate {PP = 0, LAYER = 0, PART = "attn"} {
    %w = nn.parameter "l0.attn" init = normal<0.0, 0.02> : tensor<18876416xbf16>
    %y:2 = func.call @attn(%h0, %w) : (tensor<16x4096x2048xbf16>, tensor<18876416xbf16>) -> (tensor<16x4096x2048xbf16>, tensor<16x4096x9216xbf16>)
    %g = nn.parameter "l0.gate" init = normal<0.0, 0.02> : tensor<264192xbf16>
    %s = func.call @route(%y#0, %g) : (tensor<16x4096x2048xbf16>, tensor<264192xbf16>) -> tensor<128x16x256x2048xbf16>
    strategy.yield %y#0, %s : tensor<16x4096x2048xbf16>, tensor<128x16x256x2048xbf16>
  } : tensor<16x4096x2048xbf16>, tensor<128x16x256x2048xbf16>
  %e0 = strategy.annotate {PP = 0, LAYER = 0, PART = "mlp"} {
    %w = nn.parameter "l0.experts" init = normal<0.0, 0.02> : tensor<128x4718592xbf16>
    %y:2 = func.call @experts(%s0, %w) : (tensor<128x16x256x2048xbf16>, tensor<128x4718592xbf16>) -> (tensor<128x16x256x2048xbf16>, tensor<128x16x256x1536xbf16>)
    strategy.yield %y#0 : tensor<128x16x256x2048xbf16>
  } : tensor<128x16x256x2048xbf16>
  %h1 = strategy.annotate {PP = 0, LAYER = 0, PART = "combine"} {
    %y = func.call @combine(%a0, %e0) : (tensor<16x4096x2048xbf16>, tensor<128x16x256x2048xbf16>) -> tensor<16x4096x2048xbf16>
    strategy.yield %y : tensor<16x4096x2048xbf16>
  } : tensor<16x4096x2048xbf16>
  %a1, %s1 = strategy.annotate {PP = 1, LAYER = 1, PART = "attn"} {
    %w = nn.parameter "l1.attn" init = normal<0.0, 0.02> : tensor<18876416xbf16>
    %y:2 = func.call @attn(%h1, %w) : (tensor<16x4096x2048xbf16>, tensor<18876416xbf16>) -> (tensor<16x4096x2048xbf16>, tensor<16x4096x9216xbf16>)
    %g = nn.parameter "l1.gate" init = normal<0.0, 0.02> : tensor<264192xbf16>
    %s = func.call @route(%y#0, %g) : (tensor<16x4096x2048xbf16>, tensor<264192xbf16>) -> tensor<128x16x256x2048xbf16>
    strategy.yield %y#0, %s : tensor<16x4096x2048xbf16>, tensor<128x16x256x2048xbf16>
  } : tensor<16x4096x2048xbf16>, tensor<128x16x256x2048xbf16>
  %e1 = strategy.annotate {PP = 1, LAYER = 1, PART = "mlp"} {
    %w = nn.parameter "l1.experts" init = normal<0.0, 0.02> : tensor<128x4718592xbf16>
    %y:2 = func.call @experts(%s1, %w) : (tensor<128x16x256x2048xbf16>, tensor<128x4718592xbf16>) -> (tensor<128x16x256x2048xbf16>, tensor<128x16x256x1536xbf16>)
    strategy.yield %y#0 : tensor<128x16x256x2048xbf16>
  } : tensor<128x16x256x2048xbf16>
  %h2 = strategy.annotate {PP = 1, LAYER = 1, PART = "combine"} {
    %y = func.call @combine(%a1, %e1) : (tensor<16x4096x2048xbf16>, tensor<128x16x256x2048xbf16>) -> tensor<16x4096x2048xbf16>
    strategy.yield %y : tensor<16x4096x2048xbf16>
  } : tensor<16x4096x2048xbf16>
  %loss = strategy.annotate {PP = 1, PART = "head"} {
    %w = nn.parameter "head" init = normal<0.0, 0.02> : tensor<151936x2048xbf16>
    %y = func.call @head(%h2, %w, %targets) : (tensor<16x4096x2048xbf16>, tensor<151936x2048xbf16>, tensor<16x4096xi32>) -> tensor<f32>
    strategy.yield %y : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "gpipe" microbatches = 4
  strategy.shard {PART = mlp} over "ep" parameters = {"*.experts" = 0}
  strategy.replicate over "ep"
  strategy.optimizer adamw <lr = 1.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
