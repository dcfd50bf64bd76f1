// A GPT of two layers, one of the newer kind (RMS norm, rotary positions, grouped heads, SwiGLU) and one of the older (layer
// norm, biases, GELU), with a tied embedding. The tests differentiate it and make kernels of the whole step.
func.func @loss(%tokens: tensor<2x5xi32> {role = "data", batch_dim = 0}, %targets: tensor<2x5xi32> {role = "data", batch_dim = 0}) -> tensor<f64> {
  %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<11x8xf64>
  %e = nn.embedding %tokens, %wte : (tensor<2x5xi32>, tensor<11x8xf64>) -> tensor<2x5x8xf64>
  %e2 = nn.scale %e {factor = 1.5} : tensor<2x5x8xf64>
  %p0_norm1 = nn.parameter "0.norm1" init = ones : tensor<8xf64>
  %n0 = nn.rms_norm %e2, %p0_norm1 {eps = 1.0e-5} : (tensor<2x5x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %p0_q = nn.parameter "0.q" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %q0 = nn.linear %n0, %p0_q : (tensor<2x5x8xf64>, tensor<8x8xf64>) -> tensor<2x5x8xf64>
  %p0_k = nn.parameter "0.k" init = normal<0.0, 0.3> : tensor<8x4xf64>
  %k0 = nn.linear %n0, %p0_k : (tensor<2x5x8xf64>, tensor<8x4xf64>) -> tensor<2x5x4xf64>
  %p0_v = nn.parameter "0.v" init = normal<0.0, 0.3> : tensor<8x4xf64>
  %v0 = nn.linear %n0, %p0_v : (tensor<2x5x8xf64>, tensor<8x4xf64>) -> tensor<2x5x4xf64>
  %qr = nn.rotary %q0 {heads = 2, base = 10000.0} : tensor<2x5x8xf64>
  %kr = nn.rotary %k0 {heads = 1, base = 10000.0} : tensor<2x5x4xf64>
  %o0 = nn.attention %qr, %kr, %v0 {heads = 2, kv_heads = 1} : (tensor<2x5x8xf64>, tensor<2x5x4xf64>, tensor<2x5x4xf64>) -> tensor<2x5x8xf64>
  %p0_o = nn.parameter "0.o" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %p0 = nn.linear %o0, %p0_o : (tensor<2x5x8xf64>, tensor<8x8xf64>) -> tensor<2x5x8xf64>
  %h0 = nn.add %e2, %p0 : tensor<2x5x8xf64>
  %p0_norm2 = nn.parameter "0.norm2" init = ones : tensor<8xf64>
  %m0 = nn.rms_norm %h0, %p0_norm2 {eps = 1.0e-5} : (tensor<2x5x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %p0_gate = nn.parameter "0.gate" init = normal<0.0, 0.3> : tensor<8x12xf64>
  %gate = nn.linear %m0, %p0_gate : (tensor<2x5x8xf64>, tensor<8x12xf64>) -> tensor<2x5x12xf64>
  %p0_up = nn.parameter "0.up" init = normal<0.0, 0.3> : tensor<8x12xf64>
  %up0 = nn.linear %m0, %p0_up : (tensor<2x5x8xf64>, tensor<8x12xf64>) -> tensor<2x5x12xf64>
  %s0 = nn.silu %gate : tensor<2x5x12xf64>
  %su = nn.mul %s0, %up0 : tensor<2x5x12xf64>
  %p0_down = nn.parameter "0.down" init = normal<0.0, 0.3> : tensor<12x8xf64>
  %d0 = nn.linear %su, %p0_down : (tensor<2x5x12xf64>, tensor<12x8xf64>) -> tensor<2x5x8xf64>
  %x1 = nn.add %h0, %d0 : tensor<2x5x8xf64>
  %p1_norm1_gamma = nn.parameter "1.norm1.gamma" init = ones : tensor<8xf64>
  %p1_norm1_beta = nn.parameter "1.norm1.beta" init = zeros : tensor<8xf64>
  %n1 = nn.layer_norm %x1, %p1_norm1_gamma, %p1_norm1_beta {eps = 1.0e-5} : (tensor<2x5x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %p1_q_w = nn.parameter "1.q.w" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %p1_q_bias = nn.parameter "1.q.bias" init = normal<0.0, 0.3> : tensor<8xf64>
  %q1 = nn.linear %n1, %p1_q_w, %p1_q_bias : (tensor<2x5x8xf64>, tensor<8x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %p1_k_w = nn.parameter "1.k.w" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %p1_k_bias = nn.parameter "1.k.bias" init = normal<0.0, 0.3> : tensor<8xf64>
  %k1 = nn.linear %n1, %p1_k_w, %p1_k_bias : (tensor<2x5x8xf64>, tensor<8x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %p1_v_w = nn.parameter "1.v.w" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %p1_v_bias = nn.parameter "1.v.bias" init = normal<0.0, 0.3> : tensor<8xf64>
  %v1 = nn.linear %n1, %p1_v_w, %p1_v_bias : (tensor<2x5x8xf64>, tensor<8x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %o1 = nn.attention %q1, %k1, %v1 {heads = 2, kv_heads = 2} : (tensor<2x5x8xf64>, tensor<2x5x8xf64>, tensor<2x5x8xf64>) -> tensor<2x5x8xf64>
  %p1_o_w = nn.parameter "1.o.w" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %p1_o_bias = nn.parameter "1.o.bias" init = normal<0.0, 0.3> : tensor<8xf64>
  %p1 = nn.linear %o1, %p1_o_w, %p1_o_bias : (tensor<2x5x8xf64>, tensor<8x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %h1 = nn.add %x1, %p1 : tensor<2x5x8xf64>
  %p1_norm2_gamma = nn.parameter "1.norm2.gamma" init = ones : tensor<8xf64>
  %p1_norm2_beta = nn.parameter "1.norm2.beta" init = zeros : tensor<8xf64>
  %m1 = nn.layer_norm %h1, %p1_norm2_gamma, %p1_norm2_beta {eps = 1.0e-5} : (tensor<2x5x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %p1_up_w = nn.parameter "1.up.w" init = normal<0.0, 0.3> : tensor<8x12xf64>
  %p1_up_bias = nn.parameter "1.up.bias" init = normal<0.0, 0.3> : tensor<12xf64>
  %u1 = nn.linear %m1, %p1_up_w, %p1_up_bias : (tensor<2x5x8xf64>, tensor<8x12xf64>, tensor<12xf64>) -> tensor<2x5x12xf64>
  %a1 = nn.gelu %u1 : tensor<2x5x12xf64>
  %p1_down_w = nn.parameter "1.down.w" init = normal<0.0, 0.3> : tensor<12x8xf64>
  %p1_down_bias = nn.parameter "1.down.bias" init = normal<0.0, 0.3> : tensor<8xf64>
  %d1 = nn.linear %a1, %p1_down_w, %p1_down_bias : (tensor<2x5x12xf64>, tensor<12x8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  %x2 = nn.add %h1, %d1 : tensor<2x5x8xf64>
  %z = nn.linear %x2, %wte {transpose_w} : (tensor<2x5x8xf64>, tensor<11x8xf64>) -> tensor<2x5x11xf64>
  %l = nn.cross_entropy %z, %targets {denominator = 10} : (tensor<2x5x11xf64>, tensor<2x5xi32>) -> tensor<f64>
  func.return %l : tensor<f64>
}
