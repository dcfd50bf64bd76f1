// What cannot be differentiated is said at the operation.
// RUN: piper-opt --pass-pipeline='builtin.module(autodiff)' --split-input-file --verify-diagnostics %s

func.func @loss(%x: tensor<2x4xf32>, %t: tensor<2xi32>) -> tensor<f32> {
  %w = nn.parameter "w" init = ones : tensor<2x4xf32>
  // expected-error@+1 {{'nn.gelu_dx' is not differentiable}}
  %y = nn.gelu_dx %w, %x : tensor<2x4xf32>
  %l = nn.cross_entropy %y, %t {denominator = 2} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// -----

// expected-error@+1 {{the loss does not depend on any parameter}}
func.func @loss(%t: tensor<2xi32>) -> tensor<f32> {
  %w = nn.parameter "w" init = ones : tensor<2x4xf32>
  %y = nn.stop_gradient %w : tensor<2x4xf32>
  %l = nn.cross_entropy %y, %t {denominator = 2} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// -----

func.func @loss(%t: tensor<2xi32>) -> tensor<f32> {
  // expected-note@+1 {{'w' is declared here}}
  %w = nn.parameter "w" init = ones : tensor<2x4xf32>
  // expected-error@+1 {{parameter 'w' has another initialiser here than where it was declared first}}
  %v = nn.parameter "w" init = zeros : tensor<2x4xf32>
  %y = nn.add %w, %v : tensor<2x4xf32>
  %l = nn.cross_entropy %y, %t {denominator = 2} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// -----

// expected-error@+1 {{'@loss' has branches, which have no gradient here}}
func.func @loss(%t: tensor<2xi32>) -> tensor<f32> {
  %w = nn.parameter "w" init = ones : tensor<2x4xf32>
  cf.br ^bb1
^bb1:
  %l = nn.cross_entropy %w, %t {denominator = 2} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}
