// Expansions that cannot be.
// RUN: piper-opt --load-dialect %S/Inputs/expansions.pir --pass-pipeline='builtin.module(expand-ops)' --split-input-file --verify-diagnostics=only-expected %s

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{the expansion of 'd.loop' does not end}}
  %y = d.loop %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'d.slip': dialect 'nn' has no operation 'nn.gleu'}}
  %y = d.slip %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The element type is not one that the expansion takes.
func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+2 {{operand 'x' of 'nn.scale' must be a tensor of f32}}
  // expected-error@+1 {{result 'y' of 'nn.scale' must be a tensor of f32}}
  %y = d.twice %x : tensor<4xi32>
  func.return %y : tensor<4xi32>
}
