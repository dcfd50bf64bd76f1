// A small mixture of experts (two blocks, d 64, four experts) on two pipeline ranks, two groups of experts and two replicas.
// Every rank holds two of the four experts; tokens are exchanged (all-to-all) before the experts and after them.
//
//   piper-opt --pass shard examples/experts.pir
//   piper-run examples/experts.pir --data FILE --steps 20 --compare-single

module @experts {
  strategy.mesh @cluster <["pp" = 2, "dp" = 2, "ep" = 2]>

  func.func @loss(%tokens: tensor<16x32xi32> {role = "data", batch_dim = 0},
                  %targets: tensor<16x32xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %h0, %s0 = strategy.annotate {PP = 0, PART = "attention"} {
      %wte = nn.parameter "wte" init = normal<0.0, 0.05> : tensor<256x64xf32>
      %e = nn.embedding %tokens, %wte : (tensor<16x32xi32>, tensor<256x64xf32>) -> tensor<16x32x64xf32>
      %h, %s = func.call @attention_0(%e) : (tensor<16x32x64xf32>) -> (tensor<16x32x64xf32>, tensor<4x16x8x64xf32>)
      strategy.yield %h, %s : tensor<16x32x64xf32>, tensor<4x16x8x64xf32>
    } : tensor<16x32x64xf32>, tensor<4x16x8x64xf32>
    %m0 = strategy.annotate {PP = 0, PART = "experts"} {
      %m = func.call @experts_0(%s0) : (tensor<4x16x8x64xf32>) -> tensor<4x16x8x64xf32>
      strategy.yield %m : tensor<4x16x8x64xf32>
    } : tensor<4x16x8x64xf32>
    %h1, %s1 = strategy.annotate {PP = 1, PART = "attention"} {
      %c = nn.combine %m0 : (tensor<4x16x8x64xf32>) -> tensor<16x32x64xf32>
      %r = nn.add %h0, %c : tensor<16x32x64xf32>
      %h, %s = func.call @attention_1(%r) : (tensor<16x32x64xf32>) -> (tensor<16x32x64xf32>, tensor<4x16x8x64xf32>)
      strategy.yield %h, %s : tensor<16x32x64xf32>, tensor<4x16x8x64xf32>
    } : tensor<16x32x64xf32>, tensor<4x16x8x64xf32>
    %m1 = strategy.annotate {PP = 1, PART = "experts"} {
      %m = func.call @experts_1(%s1) : (tensor<4x16x8x64xf32>) -> tensor<4x16x8x64xf32>
      strategy.yield %m : tensor<4x16x8x64xf32>
    } : tensor<4x16x8x64xf32>
    %loss = strategy.annotate {PP = 1, PART = "head"} {
      %norm = nn.parameter "norm" init = ones : tensor<64xf32>
      %head = nn.parameter "head" init = normal<0.0, 0.05> : tensor<64x256xf32>
      %c = nn.combine %m1 : (tensor<4x16x8x64xf32>) -> tensor<16x32x64xf32>
      %r = nn.add %h1, %c : tensor<16x32x64xf32>
      %n = nn.rms_norm %r, %norm {eps = 1.0e-5} : (tensor<16x32x64xf32>, tensor<64xf32>) -> tensor<16x32x64xf32>
      %z = nn.linear %n, %head : (tensor<16x32x64xf32>, tensor<64x256xf32>) -> tensor<16x32x256xf32>
      %l = nn.cross_entropy %z, %targets {denominator = 512} : (tensor<16x32x256xf32>, tensor<16x32xi32>) -> tensor<f32>
      strategy.yield %l : tensor<f32>
    } : tensor<f32>
    func.return %loss : tensor<f32>
  }

  // Attention of block 0, its residual, and the tokens sorted by expert.
  func.func private @attention_0(%x: tensor<16x32x64xf32>) -> (tensor<16x32x64xf32>, tensor<4x16x8x64xf32>) {
    %norm1 = nn.parameter "h0.norm1" init = ones : tensor<64xf32>
    %wq = nn.parameter "h0.q" init = normal<0.0, 0.05> : tensor<64x64xf32>
    %wk = nn.parameter "h0.k" init = normal<0.0, 0.05> : tensor<64x64xf32>
    %wv = nn.parameter "h0.v" init = normal<0.0, 0.05> : tensor<64x64xf32>
    %wo = nn.parameter "h0.o" init = normal<0.0, 0.02> : tensor<64x64xf32>
    %n1 = nn.rms_norm %x, %norm1 {eps = 1.0e-5} : (tensor<16x32x64xf32>, tensor<64xf32>) -> tensor<16x32x64xf32>
    %q0 = nn.linear %n1, %wq : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %k0 = nn.linear %n1, %wk : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %v = nn.linear %n1, %wv : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %q = nn.rotary %q0 {heads = 4, base = 10000.0} : tensor<16x32x64xf32>
    %k = nn.rotary %k0 {heads = 4, base = 10000.0} : tensor<16x32x64xf32>
    %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 4} : (tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x32x64xf32>) -> tensor<16x32x64xf32>
    %p = nn.linear %o, %wo : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %h = nn.add %x, %p : tensor<16x32x64xf32>
    %norm2 = nn.parameter "h0.norm2" init = ones : tensor<64xf32>
    %n2 = nn.rms_norm %h, %norm2 {eps = 1.0e-5} : (tensor<16x32x64xf32>, tensor<64xf32>) -> tensor<16x32x64xf32>
    %sorted = nn.dispatch %n2 {experts = 4} : (tensor<16x32x64xf32>) -> tensor<4x16x8x64xf32>
    func.return %h, %sorted : tensor<16x32x64xf32>, tensor<4x16x8x64xf32>
  }

  // The experts of block 0: a product, an activation and a product each.
  func.func private @experts_0(%x: tensor<4x16x8x64xf32>) -> tensor<4x16x8x64xf32> {
    %up = nn.parameter "h0.experts.up" init = normal<0.0, 0.05> : tensor<4x64x128xf32>
    %down = nn.parameter "h0.experts.down" init = normal<0.0, 0.02> : tensor<4x128x64xf32>
    %u = nn.expert_linear %x, %up : (tensor<4x16x8x64xf32>, tensor<4x64x128xf32>) -> tensor<4x16x8x128xf32>
    %a = nn.silu %u : tensor<4x16x8x128xf32>
    %d = nn.expert_linear %a, %down : (tensor<4x16x8x128xf32>, tensor<4x128x64xf32>) -> tensor<4x16x8x64xf32>
    func.return %d : tensor<4x16x8x64xf32>
  }

  // Attention of block 1, its residual, and the tokens sorted by expert.
  func.func private @attention_1(%x: tensor<16x32x64xf32>) -> (tensor<16x32x64xf32>, tensor<4x16x8x64xf32>) {
    %norm1 = nn.parameter "h1.norm1" init = ones : tensor<64xf32>
    %wq = nn.parameter "h1.q" init = normal<0.0, 0.05> : tensor<64x64xf32>
    %wk = nn.parameter "h1.k" init = normal<0.0, 0.05> : tensor<64x64xf32>
    %wv = nn.parameter "h1.v" init = normal<0.0, 0.05> : tensor<64x64xf32>
    %wo = nn.parameter "h1.o" init = normal<0.0, 0.02> : tensor<64x64xf32>
    %n1 = nn.rms_norm %x, %norm1 {eps = 1.0e-5} : (tensor<16x32x64xf32>, tensor<64xf32>) -> tensor<16x32x64xf32>
    %q0 = nn.linear %n1, %wq : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %k0 = nn.linear %n1, %wk : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %v = nn.linear %n1, %wv : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %q = nn.rotary %q0 {heads = 4, base = 10000.0} : tensor<16x32x64xf32>
    %k = nn.rotary %k0 {heads = 4, base = 10000.0} : tensor<16x32x64xf32>
    %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 4} : (tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x32x64xf32>) -> tensor<16x32x64xf32>
    %p = nn.linear %o, %wo : (tensor<16x32x64xf32>, tensor<64x64xf32>) -> tensor<16x32x64xf32>
    %h = nn.add %x, %p : tensor<16x32x64xf32>
    %norm2 = nn.parameter "h1.norm2" init = ones : tensor<64xf32>
    %n2 = nn.rms_norm %h, %norm2 {eps = 1.0e-5} : (tensor<16x32x64xf32>, tensor<64xf32>) -> tensor<16x32x64xf32>
    %sorted = nn.dispatch %n2 {experts = 4} : (tensor<16x32x64xf32>) -> tensor<4x16x8x64xf32>
    func.return %h, %sorted : tensor<16x32x64xf32>, tensor<4x16x8x64xf32>
  }

  // The experts of block 1: a product, an activation and a product each.
  func.func private @experts_1(%x: tensor<4x16x8x64xf32>) -> tensor<4x16x8x64xf32> {
    %up = nn.parameter "h1.experts.up" init = normal<0.0, 0.05> : tensor<4x64x128xf32>
    %down = nn.parameter "h1.experts.down" init = normal<0.0, 0.02> : tensor<4x128x64xf32>
    %u = nn.expert_linear %x, %up : (tensor<4x16x8x64xf32>, tensor<4x64x128xf32>) -> tensor<4x16x8x128xf32>
    %a = nn.silu %u : tensor<4x16x8x128xf32>
    %d = nn.expert_linear %a, %down : (tensor<4x16x8x128xf32>, tensor<4x128x64xf32>) -> tensor<4x16x8x64xf32>
    func.return %d : tensor<4x16x8x64xf32>
  }

  strategy.plan @train for @loss on @cluster {
    strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
    strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}
    strategy.zero over "ep" stage = 1
    strategy.replicate over "dp"
    strategy.optimizer adamw <lr = 3.0e-3, weight_decay = 0.1, clip = 1.0>
  }
}
