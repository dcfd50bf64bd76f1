// RUN: piper-opt --verify-diagnostics --split-input-file %s

kernel.func @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map"} {
  %y = nn.add %x, %x : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{there is no kernel '@kk'}}
  %y = kernel.launch @kk(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// expected-note @+1 {{'@k' is defined here}}
kernel.func @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map"} {
  %y = nn.add %x, %x : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}
func.func @f(%x: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the launch passes (tensor<5xf32>), but '@k' takes (tensor<4xf32>)}}
  %y = kernel.launch @k(%x) : (tensor<5xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

kernel.func @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map"} {
  // expected-error @+1 {{'nn.parameter' cannot be part of a kernel}}
  %y = nn.parameter "w" init = ones : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{'overwrites' names result 0 and argument 1, which are not both there}}
kernel.func @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map", overwrites = array<i64: 0, 1>} {
  %y = nn.add %x, %x : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}

// -----

// expected-note @+1 {{'@k' is declared here}}
kernel.func @k(%x: tensor<4xf32>) -> tensor<5xf32> attributes {kind = "map"} {
  %y = nn.add %x, %x : tensor<4xf32>
  // expected-error @+1 {{returns (tensor<4xf32>), but '@k' is declared to return (tensor<5xf32>)}}
  kernel.return %y : tensor<4xf32>
}
