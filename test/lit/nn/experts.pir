// What experts refuse.
// RUN: piper-opt --split-input-file --verify-diagnostics %s
func.func @uneven(%x: tensor<2x6x4xf32>) {
  // expected-error@+1 {{'nn.dispatch': 6 places of a sequence cannot be divided among 4 experts equally}}
  %y = nn.dispatch %x {experts = 4} : (tensor<2x6x4xf32>) -> tensor<4x2x1x4xf32>
  func.return
}

// -----

func.func @rank(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{'nn.dispatch': tokens have the form [G, S, D], not 2 dimension(s)}}
  %y = nn.dispatch %x {experts = 2} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  // expected-error@+1 {{'nn.combine': tokens sorted by expert have the form [E, G, C, D], not 2 dimension(s)}}
  %z = nn.combine %x : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return
}

// -----

func.func @result(%x: tensor<2x6x4xf32>, %w: tensor<2x4x5xf32>) {
  // expected-error@+1 {{'nn.dispatch' gives tensor<2x2x3x4xf32>, but its result is tensor<2x3x2x4xf32>}}
  %y = nn.dispatch %x {experts = 2} : (tensor<2x6x4xf32>) -> tensor<2x3x2x4xf32>
  // expected-note@+1 {{'x' is defined here}}
  %z = nn.dispatch %x {experts = 3} : (tensor<2x6x4xf32>) -> tensor<3x2x2x4xf32>
  // expected-error@+1 {{'nn.expert_linear': dimension E of 'w' is 2, but 'x' makes it 3}}
  %u = nn.expert_linear %z, %w : (tensor<3x2x2x4xf32>, tensor<2x4x5xf32>) -> tensor<3x2x2x5xf32>
  func.return
}
