// deepseek-v3: 4 layers, 15.1e9 parameters, on 8 devices; 16 sequences of 4096 tokens a step. Written by piper-models.
strategy.mesh @cluster <["pp" = 2, "dp" = 2, "ep" = 2]>

func.func private @embed(tensor<16x4096xi32> {batch_dim = 0}, tensor<129280x7168xbf16>) -> (tensor<16x4096x7168xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @attn(tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<187112448xbf16>) -> (tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<16x4096x18496xbf16> {batch_dim = 0})
  attributes {cost = {flops = 3.5522e13}, vjp = {input = {flops = 5.9166e13}, weight = {flops = 2.4524e13}, saved = {operands = [0, 1], results = [1]}}}
func.func private @mlp(tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<396368896xbf16>) -> (tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<16x4096x36864xbf16> {batch_dim = 0})
  attributes {cost = {flops = 5.1952e13}, vjp = {input = {flops = 5.1952e13}, weight = {flops = 5.1952e13}, saved = {operands = [0, 1], results = [1]}}}
func.func private @route(tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<1842176xbf16>) -> (tensor<256x16x128x7168xbf16> {batch_dim = 1})
  attributes {cost = {flops = 2.4052e11}, vjp = {input = {flops = 2.4052e11}, weight = {flops = 2.4052e11}}}
func.func private @experts(tensor<256x16x128x7168xbf16> {batch_dim = 1, shard_dim = 0}, tensor<256x44040192xbf16> {shard_dim = 0}) -> (tensor<256x16x128x7168xbf16> {batch_dim = 1, shard_dim = 0}, tensor<256x16x128x4096xbf16> {batch_dim = 1, shard_dim = 0})
  attributes {cost = {flops = 4.6179e13}, vjp = {input = {flops = 4.6179e13}, weight = {flops = 4.6179e13}, saved = {operands = [0, 1], results = [1]}}}
func.func private @combine(tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<256x16x128x7168xbf16> {batch_dim = 1}, tensor<44040192xbf16>) -> (tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<16x4096x4096xbf16> {batch_dim = 0})
  attributes {cost = {flops = 5.7724e12}, vjp = {input = {flops = 5.7724e12}, weight = {flops = 5.7724e12}, saved = {operands = [0, 1, 2], results = [1]}}}
func.func private @head(tensor<16x4096x7168xbf16> {batch_dim = 0}, tensor<129280x7168xbf16>, tensor<16x4096xi32> {batch_dim = 0}) -> (tensor<f32>)
  attributes {cost = {flops = 1.2146e14}, vjp = {input = {flops = 1.2146e14}, weight = {flops = 1.2146e14}}}

func.func @loss(%tokens: tensor<16x4096xi32> {role = "data", batch_dim = 0}, %targets: tensor<16x4096xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h0 = strategy.annotate {PP = 0, PART = "embed"} {
    %w = nn.parameter "embed" init = normal<0.0, 0.02> : tensor<129280x7168xbf16>
    %y = func.call @embed(%tokens, %w) : (tensor<16x4096xi32>, tensor<129280x7168xbf16>) -> tensor<16x4096x7168xbf16>
    strategy.yield %y : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %a0 = strategy.annotate {PP = 0, LAYER = 0, PART = "attn"} {
    %w = nn.parameter "l0.attn" init = normal<0.0, 0.02> : tensor<187112448xbf16>
    %y:2 = func.call @attn(%h0, %w) : (tensor<16x4096x7168xbf16>, tensor<187112448xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x18496xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %h1 = strategy.annotate {PP = 0, LAYER = 0, PART = "dense"} {
    %w = nn.parameter "l0.mlp" init = normal<0.0, 0.02> : tensor<396368896xbf16>
    %y:2 = func.call @mlp(%a0, %w) : (tensor<16x4096x7168xbf16>, tensor<396368896xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x36864xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %a1 = strategy.annotate {PP = 0, LAYER = 1, PART = "attn"} {
    %w = nn.parameter "l1.attn" init = normal<0.0, 0.02> : tensor<187112448xbf16>
    %y:2 = func.call @attn(%h1, %w) : (tensor<16x4096x7168xbf16>, tensor<187112448xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x18496xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %h2 = strategy.annotate {PP = 0, LAYER = 1, PART = "dense"} {
    %w = nn.parameter "l1.mlp" init = normal<0.0, 0.02> : tensor<396368896xbf16>
    %y:2 = func.call @mlp(%a1, %w) : (tensor<16x4096x7168xbf16>, tensor<396368896xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x36864xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %a2 = strategy.annotate {PP = 1, LAYER = 2, PART = "attn"} {
    %w = nn.parameter "l2.attn" init = normal<0.0, 0.02> : tensor<187112448xbf16>
    %y:2 = func.call @attn(%h2, %w) : (tensor<16x4096x7168xbf16>, tensor<187112448xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x18496xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %h3 = strategy.annotate {PP = 1, LAYER = 2, PART = "dense"} {
    %w = nn.parameter "l2.mlp" init = normal<0.0, 0.02> : tensor<396368896xbf16>
    %y:2 = func.call @mlp(%a2, %w) : (tensor<16x4096x7168xbf16>, tensor<396368896xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x36864xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %a3, %s3 = strategy.annotate {PP = 1, LAYER = 3, PART = "attn"} {
    %w = nn.parameter "l3.attn" init = normal<0.0, 0.02> : tensor<187112448xbf16>
    %y:2 = func.call @attn(%h3, %w) : (tensor<16x4096x7168xbf16>, tensor<187112448xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x18496xbf16>)
    %g = nn.parameter "l3.gate" init = normal<0.0, 0.02> : tensor<1842176xbf16>
    %s = func.call @route(%y#0, %g) : (tensor<16x4096x7168xbf16>, tensor<1842176xbf16>) -> tensor<256x16x128x7168xbf16>
    strategy.yield %y#0, %s : tensor<16x4096x7168xbf16>, tensor<256x16x128x7168xbf16>
  } : tensor<16x4096x7168xbf16>, tensor<256x16x128x7168xbf16>
  %e3 = strategy.annotate {PP = 1, LAYER = 3, PART = "mlp"} {
    %w = nn.parameter "l3.experts" init = normal<0.0, 0.02> : tensor<256x44040192xbf16>
    %y:2 = func.call @experts(%s3, %w) : (tensor<256x16x128x7168xbf16>, tensor<256x44040192xbf16>) -> (tensor<256x16x128x7168xbf16>, tensor<256x16x128x4096xbf16>)
    strategy.yield %y#0 : tensor<256x16x128x7168xbf16>
  } : tensor<256x16x128x7168xbf16>
  %h4 = strategy.annotate {PP = 1, LAYER = 3, PART = "combine"} {
    %w = nn.parameter "l3.shared" init = normal<0.0, 0.02> : tensor<44040192xbf16>
    %y:2 = func.call @combine(%a3, %e3, %w) : (tensor<16x4096x7168xbf16>, tensor<256x16x128x7168xbf16>, tensor<44040192xbf16>) -> (tensor<16x4096x7168xbf16>, tensor<16x4096x4096xbf16>)
    strategy.yield %y#0 : tensor<16x4096x7168xbf16>
  } : tensor<16x4096x7168xbf16>
  %loss = strategy.annotate {PP = 1, PART = "head"} {
    %w = nn.parameter "head" init = normal<0.0, 0.02> : tensor<129280x7168xbf16>
    %y = func.call @head(%h4, %w, %targets) : (tensor<16x4096x7168xbf16>, tensor<129280x7168xbf16>, tensor<16x4096xi32>) -> tensor<f32>
    strategy.yield %y : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.dualpipe over "pp" stages = "PP" microbatches = 4
  strategy.shard {PART = mlp} over "ep" parameters = {"*.experts" = 0}
  strategy.replicate over "ep"
  strategy.zero over "dp" stage = 1
  strategy.optimizer adamw <lr = 1.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
