// What cannot be divided is said where it was asked for.
// RUN: piper-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag,shard)'

strategy.mesh @cluster <["tp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %loss = strategy.annotate {PART = "out"} {
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %l = nn.cross_entropy %y, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{'strategy.shard' selects no node}}
  strategy.shard {PART = mlp} over "tp" parameters = {"w" = 1}
}

// -----

strategy.mesh @cluster <["tp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %loss = strategy.annotate {PART = "out"} {
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %l = nn.cross_entropy %y, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{'strategy.shard' divides no parameter of what it selects}}
  strategy.shard {PART = out} over "tp" parameters = {"v" = 1}
}

// -----

strategy.mesh @cluster <["tp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %loss = strategy.annotate {PART = "out"} {
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    // expected-error@+1 {{what is computed from parameters divided over "tp" cannot be divided here: operand 'logits' of 'nn.cross_entropy' cannot be split along its dimension V: the softmax is taken over it}}
    %l = nn.cross_entropy %y, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  // expected-note@+1 {{asked for here}}
  strategy.shard {PART = out} over "tp" parameters = {"w" = 1}
}

// -----

strategy.mesh @cluster <["tp" = 3]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PART = "in"} {
    // expected-note@+1 {{the parameter is declared here}}
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    // expected-note@+1 {{the parameter is declared here}}
    %v = nn.parameter "v" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %z = nn.linear %y, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    strategy.yield %z : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %l = nn.cross_entropy %h, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  // expected-error@+2 {{dimension 1 of parameter "w", 4, cannot be divided into 3 equal parts}}
  // expected-error@+1 {{parameter "v" has no dimension 2}}
  strategy.shard {PART = in} over "tp" parameters = {"w" = 1, "v" = 2}
}

// -----

strategy.mesh @cluster <["tp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PART = "in"} {
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    strategy.yield %y : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %h, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    // expected-note@+1 {{used here}}
    %l = nn.cross_entropy %y, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{parameter "w" is divided, but node 'f1', which no strategy.shard selects, uses it too}}
  strategy.shard {PART = in} over "tp" parameters = {"w" = 0}
}

// -----

strategy.mesh @cluster <["ep" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h, %g = strategy.annotate {PART = "in"} {
    %one = nn.parameter "norm" init = ones : tensor<4xf32>
    %n = nn.rms_norm %x, %one {eps = 1.0e-5} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    %w = nn.parameter "w" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %n, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    strategy.yield %y, %n : tensor<8x4xf32>, tensor<8x4xf32>
  } : tensor<8x4xf32>, tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %y = nn.add %h, %g : tensor<8x4xf32>
    // expected-error@+1 {{a value of !dag.dist<tensor<8x4xf32>, @cluster> that node 'f1' takes is whole over "ep", but has to be divided along dimension 0 there, and no collective makes it so}}
    %l = nn.cross_entropy %y, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  // expected-note@+1 {{divided by this}}
  strategy.shard {PART = in} over "ep" parameters = {"w" = 1}
  strategy.replicate over "ep"
}

// -----

strategy.mesh @cluster <["tp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  func.return %x : tensor<8x4xf32>
}
strategy.plan @train for @loss on @cluster {
  // expected-error@+2 {{the mesh has no axis "pp"}}
  // expected-error@+1 {{'strategy.shard' divides no parameter}}
  strategy.shard {PART = in} over "pp" parameters = {}
}
