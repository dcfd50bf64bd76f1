// mixtral-8x7b: 2 layers, 3.2e9 parameters, on 8 devices; 16 sequences of 4096 tokens a step. Written by piper-models.
strategy.mesh @cluster <["pp" = 2, "dp" = 2, "ep" = 2]>

func.func private @embed(tensor<16x4096xi32> {batch_dim = 0}, tensor<32000x4096xbf16>) -> (tensor<16x4096x4096xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @attn(tensor<16x4096x4096xbf16> {batch_dim = 0}, tensor<41947136xbf16>) -> (tensor<16x4096x4096xbf16> {batch_dim = 0}, tensor<16x4096x10240xbf16> {batch_dim = 0})
  attributes {cost = {flops = 7.6971e12}, vjp = {input = {flops = 1.0996e13}, weight = {flops = 5.4976e12}, saved = {operands = [0, 1], results = [1]}}}
func.func private @route(tensor<16x4096x4096xbf16> {batch_dim = 0}, tensor<36864xbf16>) -> (tensor<8x16x1024x4096xbf16> {batch_dim = 1})
  attributes {cost = {flops = 4.2950e9}, vjp = {input = {flops = 4.2950e9}, weight = {flops = 4.2950e9}}}
func.func private @experts(tensor<8x16x1024x4096xbf16> {batch_dim = 1, shard_dim = 0}, tensor<8x176160768xbf16> {shard_dim = 0}) -> (tensor<8x16x1024x4096xbf16> {batch_dim = 1, shard_dim = 0}, tensor<8x16x1024x28672xbf16> {batch_dim = 1, shard_dim = 0})
  attributes {cost = {flops = 4.6179e13}, vjp = {input = {flops = 4.6179e13}, weight = {flops = 4.6179e13}, saved = {operands = [0, 1], results = [1]}}}
func.func private @combine(tensor<16x4096x4096xbf16> {batch_dim = 0}, tensor<8x16x1024x4096xbf16> {batch_dim = 1}) -> (tensor<16x4096x4096xbf16> {batch_dim = 0})
  attributes {cost = {flops = 0.0000e0}, vjp = {input = {flops = 0.0000e0}, weight = {flops = 0.0000e0}}}
func.func private @head(tensor<16x4096x4096xbf16> {batch_dim = 0}, tensor<32000x4096xbf16>, tensor<16x4096xi32> {batch_dim = 0}) -> (tensor<f32>)
  attributes {cost = {flops = 1.7180e13}, vjp = {input = {flops = 1.7180e13}, weight = {flops = 1.7180e13}}}

func.func @loss(%tokens: tensor<16x4096xi32> {role = "data", batch_dim = 0}, %targets: tensor<16x4096xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h0 = strategy.annotate {PP = 0, PART = "embed"} {
    %w = nn.parameter "embed" init = normal<0.0, 0.02> : tensor<32000x4096xbf16>
    %y = func.call @embed(%tokens, %w) : (tensor<16x4096xi32>, tensor<32000x4096xbf16>) -> tensor<16x4096x4096xbf16>
    strategy.yield %y : tensor<16x4096x4096xbf16>
  } : tensor<16x4096x4096xbf16>
  %a0, %s0 = strategy.annotate {PP = 0, LAYER = 0, PART = "attn"} {
    %w = nn.parameter "l0.attn" init = normal<0.0, 0.02> : tensor<41947136xbf16>
    %y:2 = func.call @attn(%h0, %w) : (tensor<16x4096x4096xbf16>, tensor<41947136xbf16>) -> (tensor<16x4096x4096xbf16>, tensor<16x4096x10240xbf16>)
    %g = nn.parameter "l0.gate" init = normal<0.0, 0.02> : tensor<36864xbf16>
    %s = func.call @route(%y#0, %g) : (tensor<16x4096x4096xbf16>, tensor<36864xbf16>) -> tensor<8x16x1024x4096xbf16>
    strategy.yield %y#0, %s : tensor<16x4096x4096xbf16>, tensor<8x16x1024x4096xbf16>
  } : tensor<16x4096x4096xbf16>, tensor<8x16x1024x4096xbf16>
  %e0 = strategy.annotate {PP = 0, LAYER = 0, PART = "mlp"} {
    %w = nn.parameter "l0.experts" init = normal<0.0, 0.02> : tensor<8x176160768xbf16>
    %y:2 = func.call @experts(%s0, %w) : (tensor<8x16x1024x4096xbf16>, tensor<8x176160768xbf16>) -> (tensor<8x16x1024x4096xbf16>, tensor<8x16x1024x28672xbf16>)
    strategy.yield %y#0 : tensor<8x16x1024x4096xbf16>
  } : tensor<8x16x1024x4096xbf16>
  %h1 = strategy.annotate {PP = 0, LAYER = 0, PART = "combine"} {
    %y = func.call @combine(%a0, %e0) : (tensor<16x4096x4096xbf16>, tensor<8x16x1024x4096xbf16>) -> tensor<16x4096x4096xbf16>
    strategy.yield %y : tensor<16x4096x4096xbf16>
  } : tensor<16x4096x4096xbf16>
  %a1, %s1 = strategy.annotate {PP = 1, LAYER = 1, PART = "attn"} {
    %w = nn.parameter "l1.attn" init = normal<0.0, 0.02> : tensor<41947136xbf16>
    %y:2 = func.call @attn(%h1, %w) : (tensor<16x4096x4096xbf16>, tensor<41947136xbf16>) -> (tensor<16x4096x4096xbf16>, tensor<16x4096x10240xbf16>)
    %g = nn.parameter "l1.gate" init = normal<0.0, 0.02> : tensor<36864xbf16>
    %s = func.call @route(%y#0, %g) : (tensor<16x4096x4096xbf16>, tensor<36864xbf16>) -> tensor<8x16x1024x4096xbf16>
    strategy.yield %y#0, %s : tensor<16x4096x4096xbf16>, tensor<8x16x1024x4096xbf16>
  } : tensor<16x4096x4096xbf16>, tensor<8x16x1024x4096xbf16>
  %e1 = strategy.annotate {PP = 1, LAYER = 1, PART = "mlp"} {
    %w = nn.parameter "l1.experts" init = normal<0.0, 0.02> : tensor<8x176160768xbf16>
    %y:2 = func.call @experts(%s1, %w) : (tensor<8x16x1024x4096xbf16>, tensor<8x176160768xbf16>) -> (tensor<8x16x1024x4096xbf16>, tensor<8x16x1024x28672xbf16>)
    strategy.yield %y#0 : tensor<8x16x1024x4096xbf16>
  } : tensor<8x16x1024x4096xbf16>
  %h2 = strategy.annotate {PP = 1, LAYER = 1, PART = "combine"} {
    %y = func.call @combine(%a1, %e1) : (tensor<16x4096x4096xbf16>, tensor<8x16x1024x4096xbf16>) -> tensor<16x4096x4096xbf16>
    strategy.yield %y : tensor<16x4096x4096xbf16>
  } : tensor<16x4096x4096xbf16>
  %loss = strategy.annotate {PP = 1, PART = "head"} {
    %w = nn.parameter "head" init = normal<0.0, 0.02> : tensor<32000x4096xbf16>
    %y = func.call @head(%h2, %w, %targets) : (tensor<16x4096x4096xbf16>, tensor<32000x4096xbf16>, tensor<16x4096xi32>) -> tensor<f32>
    strategy.yield %y : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.shard {PART = mlp} over "ep" parameters = {"*.experts" = 0}
  strategy.replicate over "ep"
  strategy.zero over "dp" stage = 1
  strategy.optimizer adamw <lr = 1.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
