// A byte-level GPT of four blocks (d 128, 4 heads, 64 bytes of context) trained on four pipeline ranks from both ends
// (DualPipe), twice over (data parallel), with sharded optimizer state (ZeRO-1).
//
//   piper-opt --pass dualpipe examples/gpt.pir

module @gpt {
  strategy.mesh @cluster <["pp" = 4, "dp" = 2]>

  func.func @loss(%tokens: tensor<16x64xi32> {role = "data", batch_dim = 0},
                  %targets: tensor<16x64xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %h0 = strategy.annotate {PP = 0} {
      %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<256x128xf32>
      %e = nn.embedding %tokens, %wte : (tensor<16x64xi32>, tensor<256x128xf32>) -> tensor<16x64x128xf32>
      %b = func.call @block_0(%e) : (tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
      strategy.yield %b : tensor<16x64x128xf32>
    } : tensor<16x64x128xf32>
    %h1 = strategy.annotate {PP = 1} {
      %b = func.call @block_1(%h0) : (tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
      strategy.yield %b : tensor<16x64x128xf32>
    } : tensor<16x64x128xf32>
    %h2 = strategy.annotate {PP = 2} {
      %b = func.call @block_2(%h1) : (tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
      strategy.yield %b : tensor<16x64x128xf32>
    } : tensor<16x64x128xf32>
    %loss = strategy.annotate {PP = 3} {
      %b = func.call @block_3(%h2) : (tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
      %norm = nn.parameter "norm" init = ones : tensor<128xf32>
      %head = nn.parameter "head" init = normal<0.0, 0.02> : tensor<128x256xf32>
      %n = nn.rms_norm %b, %norm {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
      %logits = nn.linear %n, %head : (tensor<16x64x128xf32>, tensor<128x256xf32>) -> tensor<16x64x256xf32>
      %l = nn.cross_entropy %logits, %targets {denominator = 1024} : (tensor<16x64x256xf32>, tensor<16x64xi32>) -> tensor<f32>
      strategy.yield %l : tensor<f32>
    } : tensor<f32>
    func.return %loss : tensor<f32>
  }

  func.func private @block_0(%x: tensor<16x64x128xf32>) -> tensor<16x64x128xf32> {
    %norm1 = nn.parameter "h0.norm1" init = ones : tensor<128xf32>
    %wq = nn.parameter "h0.q" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wk = nn.parameter "h0.k" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wv = nn.parameter "h0.v" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wo = nn.parameter "h0.o" init = normal<0.0, 0.007> : tensor<128x128xf32>
    %n1 = nn.rms_norm %x, %norm1 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %q0 = nn.linear %n1, %wq : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %k0 = nn.linear %n1, %wk : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %v = nn.linear %n1, %wv : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %q = nn.rotary %q0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %k = nn.rotary %k0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 4} : (tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
    %p = nn.linear %o, %wo : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %h = nn.add %x, %p : tensor<16x64x128xf32>

    %norm2 = nn.parameter "h0.norm2" init = ones : tensor<128xf32>
    %up = nn.parameter "h0.up" init = normal<0.0, 0.02> : tensor<128x512xf32>
    %down = nn.parameter "h0.down" init = normal<0.0, 0.007> : tensor<512x128xf32>
    %n2 = nn.rms_norm %h, %norm2 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %u = nn.linear %n2, %up : (tensor<16x64x128xf32>, tensor<128x512xf32>) -> tensor<16x64x512xf32>
    %a = nn.gelu %u : tensor<16x64x512xf32>
    %d = nn.linear %a, %down : (tensor<16x64x512xf32>, tensor<512x128xf32>) -> tensor<16x64x128xf32>
    %y = nn.add %h, %d : tensor<16x64x128xf32>
    func.return %y : tensor<16x64x128xf32>
  }

  func.func private @block_1(%x: tensor<16x64x128xf32>) -> tensor<16x64x128xf32> {
    %norm1 = nn.parameter "h1.norm1" init = ones : tensor<128xf32>
    %wq = nn.parameter "h1.q" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wk = nn.parameter "h1.k" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wv = nn.parameter "h1.v" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wo = nn.parameter "h1.o" init = normal<0.0, 0.007> : tensor<128x128xf32>
    %n1 = nn.rms_norm %x, %norm1 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %q0 = nn.linear %n1, %wq : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %k0 = nn.linear %n1, %wk : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %v = nn.linear %n1, %wv : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %q = nn.rotary %q0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %k = nn.rotary %k0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 4} : (tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
    %p = nn.linear %o, %wo : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %h = nn.add %x, %p : tensor<16x64x128xf32>

    %norm2 = nn.parameter "h1.norm2" init = ones : tensor<128xf32>
    %up = nn.parameter "h1.up" init = normal<0.0, 0.02> : tensor<128x512xf32>
    %down = nn.parameter "h1.down" init = normal<0.0, 0.007> : tensor<512x128xf32>
    %n2 = nn.rms_norm %h, %norm2 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %u = nn.linear %n2, %up : (tensor<16x64x128xf32>, tensor<128x512xf32>) -> tensor<16x64x512xf32>
    %a = nn.gelu %u : tensor<16x64x512xf32>
    %d = nn.linear %a, %down : (tensor<16x64x512xf32>, tensor<512x128xf32>) -> tensor<16x64x128xf32>
    %y = nn.add %h, %d : tensor<16x64x128xf32>
    func.return %y : tensor<16x64x128xf32>
  }

  func.func private @block_2(%x: tensor<16x64x128xf32>) -> tensor<16x64x128xf32> {
    %norm1 = nn.parameter "h2.norm1" init = ones : tensor<128xf32>
    %wq = nn.parameter "h2.q" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wk = nn.parameter "h2.k" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wv = nn.parameter "h2.v" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wo = nn.parameter "h2.o" init = normal<0.0, 0.007> : tensor<128x128xf32>
    %n1 = nn.rms_norm %x, %norm1 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %q0 = nn.linear %n1, %wq : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %k0 = nn.linear %n1, %wk : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %v = nn.linear %n1, %wv : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %q = nn.rotary %q0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %k = nn.rotary %k0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 4} : (tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
    %p = nn.linear %o, %wo : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %h = nn.add %x, %p : tensor<16x64x128xf32>

    %norm2 = nn.parameter "h2.norm2" init = ones : tensor<128xf32>
    %up = nn.parameter "h2.up" init = normal<0.0, 0.02> : tensor<128x512xf32>
    %down = nn.parameter "h2.down" init = normal<0.0, 0.007> : tensor<512x128xf32>
    %n2 = nn.rms_norm %h, %norm2 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %u = nn.linear %n2, %up : (tensor<16x64x128xf32>, tensor<128x512xf32>) -> tensor<16x64x512xf32>
    %a = nn.gelu %u : tensor<16x64x512xf32>
    %d = nn.linear %a, %down : (tensor<16x64x512xf32>, tensor<512x128xf32>) -> tensor<16x64x128xf32>
    %y = nn.add %h, %d : tensor<16x64x128xf32>
    func.return %y : tensor<16x64x128xf32>
  }

  func.func private @block_3(%x: tensor<16x64x128xf32>) -> tensor<16x64x128xf32> {
    %norm1 = nn.parameter "h3.norm1" init = ones : tensor<128xf32>
    %wq = nn.parameter "h3.q" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wk = nn.parameter "h3.k" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wv = nn.parameter "h3.v" init = normal<0.0, 0.02> : tensor<128x128xf32>
    %wo = nn.parameter "h3.o" init = normal<0.0, 0.007> : tensor<128x128xf32>
    %n1 = nn.rms_norm %x, %norm1 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %q0 = nn.linear %n1, %wq : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %k0 = nn.linear %n1, %wk : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %v = nn.linear %n1, %wv : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %q = nn.rotary %q0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %k = nn.rotary %k0 {heads = 4, base = 10000.0} : tensor<16x64x128xf32>
    %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 4} : (tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
    %p = nn.linear %o, %wo : (tensor<16x64x128xf32>, tensor<128x128xf32>) -> tensor<16x64x128xf32>
    %h = nn.add %x, %p : tensor<16x64x128xf32>

    %norm2 = nn.parameter "h3.norm2" init = ones : tensor<128xf32>
    %up = nn.parameter "h3.up" init = normal<0.0, 0.02> : tensor<128x512xf32>
    %down = nn.parameter "h3.down" init = normal<0.0, 0.007> : tensor<512x128xf32>
    %n2 = nn.rms_norm %h, %norm2 {eps = 1.0e-5} : (tensor<16x64x128xf32>, tensor<128xf32>) -> tensor<16x64x128xf32>
    %u = nn.linear %n2, %up : (tensor<16x64x128xf32>, tensor<128x512xf32>) -> tensor<16x64x512xf32>
    %a = nn.gelu %u : tensor<16x64x512xf32>
    %d = nn.linear %a, %down : (tensor<16x64x512xf32>, tensor<512x128xf32>) -> tensor<16x64x128xf32>
    %y = nn.add %h, %d : tensor<16x64x128xf32>
    func.return %y : tensor<16x64x128xf32>
  }

  strategy.plan @train for @loss on @cluster {
    strategy.dualpipe over "pp" stages = "PP" microbatches = 8
    strategy.zero over "dp" stage = 1
    strategy.optimizer adamw <lr = 0.003, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
  }
}
