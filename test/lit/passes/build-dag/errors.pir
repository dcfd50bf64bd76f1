// RUN: piper-opt --pass build-dag --split-input-file --verify-diagnostics %s

// A segment that is left and entered again.
strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<4x8xf32> {role = "data", batch_dim = 0}, %targets: tensor<4xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %a = strategy.annotate {PP = 0} {
    %w = nn.parameter "a" init = normal<0.0, 0.1> : tensor<8x8xf32>
    // expected-error@+1 {{segments {PP = 0} and {PP = 1} depend on each other both ways, so neither can run first}}
    %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    strategy.yield %y : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %b = strategy.annotate {PP = 1} {
    // expected-note@+1 {{{PP = 1} uses a value of {PP = 0} here}}
    %y = nn.gelu %a : tensor<4x8xf32>
    strategy.yield %y : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %l = strategy.annotate {PP = 0} {
    // expected-note@+1 {{{PP = 0} uses a value of {PP = 1} here}}
    %loss = nn.cross_entropy %b, %targets {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
}

// -----

// An operation without tags.
strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<4x8xf32> {role = "data", batch_dim = 0}, %targets: tensor<4xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %a = strategy.annotate {PP = 0} {
    %w = nn.parameter "a" init = normal<0.0, 0.1> : tensor<8x8xf32>
    %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    strategy.yield %y : tensor<4x8xf32>
  } : tensor<4x8xf32>
  // expected-error@+1 {{'nn.cross_entropy' is in no segment: it has no tags}}
  %loss = nn.cross_entropy %a, %targets {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
}
