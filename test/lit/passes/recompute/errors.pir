// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,recompute)' --verify-diagnostics %s

strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %v0 = nn.parameter "v0" init = normal<0.0, 0.1> : tensor<16x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    %b = nn.linear %g, %v0 : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    strategy.yield %b : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  // expected-error@+2 {{'recompute' selects no segment that is trained: {PP = 7}}}
  // expected-error@+2 {{'recompute' names 'nn.rms_norm', which no selected segment has}}
  strategy.recompute {PP = 7}
  strategy.recompute {PP = *} only = ["nn.rms_norm"]
}

