// A small GPT in three segments, with what makes gradients interesting: a tied embedding (segments 0 and 2), a skip connection
// from the embedding past segment 1, two branches inside segment 1, grouped keys and values, both norms, both activations.
func.func @loss(%tokens: tensor<2x4xi32> {batch_dim = 0, role = "data"}, %targets: tensor<2x4xi32> {batch_dim = 0, role = "data"}) -> tensor<f64> {
  %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<7x8xf64>
  %e = nn.embedding %tokens, %wte {tags = {PP = 0}} : (tensor<2x4xi32>, tensor<7x8xf64>) -> tensor<2x4x8xf64>
  %e0 = nn.scale %e {factor = 2.828, tags = {PP = 0}} : tensor<2x4x8xf64>

  %g1 = nn.parameter "h0.norm1" init = normal<1.0, 0.2> : tensor<8xf64>
  %wq = nn.parameter "h0.q" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %wk = nn.parameter "h0.k" init = normal<0.0, 0.3> : tensor<8x4xf64>
  %wv = nn.parameter "h0.v" init = normal<0.0, 0.3> : tensor<8x4xf64>
  %wo = nn.parameter "h0.o" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %n1 = nn.rms_norm %e0, %g1 {eps = 1.0e-5, tags = {PP = 0}} : (tensor<2x4x8xf64>, tensor<8xf64>) -> tensor<2x4x8xf64>
  %q0 = nn.linear %n1, %wq {tags = {PP = 0}} : (tensor<2x4x8xf64>, tensor<8x8xf64>) -> tensor<2x4x8xf64>
  %q = nn.rotary %q0 {heads = 4, base = 10000.0, tags = {PP = 0}} : tensor<2x4x8xf64>
  %k0 = nn.linear %n1, %wk {tags = {PP = 0}} : (tensor<2x4x8xf64>, tensor<8x4xf64>) -> tensor<2x4x4xf64>
  %k = nn.rotary %k0 {heads = 2, base = 10000.0, tags = {PP = 0}} : tensor<2x4x4xf64>
  %v = nn.linear %n1, %wv {tags = {PP = 0}} : (tensor<2x4x8xf64>, tensor<8x4xf64>) -> tensor<2x4x4xf64>
  %o = nn.attention %q, %k, %v {heads = 4, kv_heads = 2, tags = {PP = 0}} : (tensor<2x4x8xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x8xf64>
  %p = nn.linear %o, %wo {tags = {PP = 0}} : (tensor<2x4x8xf64>, tensor<8x8xf64>) -> tensor<2x4x8xf64>
  %h0 = nn.add %e0, %p {tags = {PP = 0}} : tensor<2x4x8xf64>

  // Two branches: SwiGLU, and a GELU layer with biases behind a layer norm.
  %wu = nn.parameter "h1.up" init = normal<0.0, 0.3> : tensor<8x12xf64>
  %wg = nn.parameter "h1.gate" init = normal<0.0, 0.3> : tensor<8x12xf64>
  %wd = nn.parameter "h1.down" init = normal<0.0, 0.3> : tensor<12x8xf64>
  %u = nn.linear %h0, %wu {tags = {PP = 1, branch = "left"}} : (tensor<2x4x8xf64>, tensor<8x12xf64>) -> tensor<2x4x12xf64>
  %g = nn.linear %h0, %wg {tags = {PP = 1, branch = "left"}} : (tensor<2x4x8xf64>, tensor<8x12xf64>) -> tensor<2x4x12xf64>
  %s = nn.silu %g {tags = {PP = 1, branch = "left"}} : tensor<2x4x12xf64>
  %m = nn.mul %s, %u {tags = {PP = 1, branch = "left"}} : tensor<2x4x12xf64>
  %left = nn.linear %m, %wd {tags = {PP = 1, branch = "left"}} : (tensor<2x4x12xf64>, tensor<12x8xf64>) -> tensor<2x4x8xf64>

  %g2 = nn.parameter "h1.norm" init = normal<1.0, 0.2> : tensor<8xf64>
  %b2 = nn.parameter "h1.norm.beta" init = normal<0.0, 0.2> : tensor<8xf64>
  %w1 = nn.parameter "h1.w" init = normal<0.0, 0.3> : tensor<8x8xf64>
  %b1 = nn.parameter "h1.bias" init = normal<0.0, 0.3> : tensor<8xf64>
  %n2 = nn.layer_norm %h0, %g2, %b2 {eps = 1.0e-5, tags = {PP = 1, branch = "right"}} : (tensor<2x4x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x4x8xf64>
  %r1 = nn.linear %n2, %w1, %b1 {tags = {PP = 1, branch = "right"}} : (tensor<2x4x8xf64>, tensor<8x8xf64>, tensor<8xf64>) -> tensor<2x4x8xf64>
  %right = nn.gelu %r1 {tags = {PP = 1, branch = "right"}} : tensor<2x4x8xf64>

  // The last segment joins the branches, the residual and the skip; it uses the embedding again.
  %again = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<7x8xf64>
  %g3 = nn.parameter "norm" init = normal<1.0, 0.2> : tensor<8xf64>
  %j1 = nn.add %left, %right {tags = {PP = 2}} : tensor<2x4x8xf64>
  %j2 = nn.add %h0, %j1 {tags = {PP = 2}} : tensor<2x4x8xf64>
  %j3 = nn.add %e, %j2 {tags = {PP = 2}} : tensor<2x4x8xf64>
  %n3 = nn.rms_norm %j3, %g3 {eps = 1.0e-5, tags = {PP = 2}} : (tensor<2x4x8xf64>, tensor<8xf64>) -> tensor<2x4x8xf64>
  %z = nn.linear %n3, %again {transpose_w, tags = {PP = 2}} : (tensor<2x4x8xf64>, tensor<7x8xf64>) -> tensor<2x4x7xf64>
  %l = nn.cross_entropy %z, %targets {denominator = 8, tags = {PP = 2}} : (tensor<2x4x7xf64>, tensor<2x4xi32>) -> tensor<f64>
  func.return %l : tensor<f64>
}
