// Misfits name the dimension and both values.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-note@+1 {{'w' is defined here}}
  %w = nn.parameter "w" init = ones : tensor<7x5xf32>
  // expected-error@+1 {{'nn.linear': dimension K of 'w' is 7, but 'x' makes it 4}}
  %y = nn.linear %x, %w : (tensor<2x3x4xf32>, tensor<7x5xf32>) -> tensor<2x3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'nn.attention': heads = 3 does not divide dimension H*hd = 4}}
  %y = nn.attention %x, %x, %x {heads = 3, kv_heads = 1} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// -----

// expected-note@+1 {{'@g' is defined here}}
func.func private @g(i64) -> i64
func.func @f(%a: i32) {
  // expected-error@+1 {{the call passes (i32), but '@g' takes (i64)}}
  %b = func.call @g(%a) : (i32) -> i64
  func.return
}
