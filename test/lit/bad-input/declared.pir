// Costs, what is saved, and dimensions of declarations.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{'cost' of '@f' must be a dictionary, but is 1.000000e+09}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = 1.0e9}

// -----

// expected-error@+1 {{'cost' of '@f': flops must be a finite number of at least 0, but is -1.000000e+00}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {flops = -1.0}}

// -----

// expected-error@+1 {{'cost' of '@f': bytes must be a finite number of at least 0, but is 0x7FF0000000000000}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {bytes = 0x7FF0000000000000 : f64}}

// -----

// expected-error@+1 {{'cost' of '@f': seconds must be a finite number of at least 0, but is 0x7FF8000000000000}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {seconds = 0x7FF8000000000000 : f64}}

// -----

// expected-error@+1 {{'cost' of '@f': flops must be a finite number of at least 0, but is "many"}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {flops = "many"}}

// -----

// expected-error@+1 {{'cost' of '@f' has an unknown entry 'flop'}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {flop = 1.0}}

// -----

// expected-error@+1 {{'@f' has a body, so what it costs follows from it}}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {cost = {flops = 1.0}} {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{'@f' has a 'vjp' but no 'cost'}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {vjp = {input = {flops = 1.0}}}

// -----

// expected-error@+1 {{'vjp.weight' of '@f': flops must be a finite number of at least 0, but is -2}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {}, vjp = {weight = {flops = -2}}}

// -----

// expected-error@+1 {{'vjp' of '@f' has an unknown entry 'weights'}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {}, vjp = {weights = {flops = 2}}}

// -----

// expected-error@+1 {{'saved' of '@f' must be a dictionary, but is [0]}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {}, vjp = {saved = [0]}}

// -----

// expected-error@+1 {{'saved' of '@f' must list numbers of its 1 operand(s), each once, but has 1}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {}, vjp = {saved = {operands = [0, 1]}}}

// -----

// expected-error@+1 {{'saved' of '@f' must list numbers of its 1 result(s), each once, but has 0}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {}, vjp = {saved = {results = [0, 0]}}}

// -----

// expected-error@+1 {{shard_dim of argument 0 of '@f' must be a dimension of tensor<4xf32>, but is 1}}
func.func private @f(tensor<4xf32> {shard_dim = 1}) -> tensor<4xf32> attributes {cost = {}}

// -----

// expected-error@+1 {{batch_dim of argument 1 of '@f' has size 8, but that of argument 0 has 4}}
func.func private @f(tensor<4xf32> {batch_dim = 0}, tensor<8xf32> {batch_dim = 0}) -> tensor<4xf32> attributes {cost = {}}

// -----

// expected-error@+1 {{result 0 of '@f' has a batch_dim, but no argument has}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {batch_dim = 0}) attributes {cost = {}}

// -----

// expected-error@+1 {{argument 0 of '@f' has its batch and what is sharded in one dimension}}
func.func private @f(tensor<4xf32> {batch_dim = 0, shard_dim = 0}) -> tensor<4xf32> attributes {cost = {}}

// -----

// expected-note@+1 {{'@f' is declared here}}
func.func private @f(tensor<4x8xf32> {batch_dim = 0}) -> (tensor<4x8xf32> {batch_dim = 0}) attributes {cost = {}}
func.func @g(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{'nn.opaque': operand 0 has type tensor<4x4xf32>, but '@f' has tensor<4x8xf32> there}}
  %y = nn.opaque @f(%x) : (tensor<4x4xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func private @f(tensor<4x8xf32> {batch_dim = 0}) -> (tensor<4x8xf32> {batch_dim = 0}) attributes {cost = {}}
func.func @g(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'nn.opaque': result 0 is 1/1 of what '@f' declares, but others are 1/2}}
  %y = nn.opaque @f(%x) : (tensor<2x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// expected-note@+1 {{'@f' is defined here}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @g(%x: tensor<4xf32>) {
  // expected-error@+1 {{'nn.opaque': there is no declaration '@f' with a cost}}
  %y = nn.opaque @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// expected-note@+1 {{'@f' is declared here}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {cost = {}}
func.func @g(%x: tensor<4xf32>) {
  // expected-error@+1 {{'nn.opaque_dx': 'saved' and 'wrt' number the 2 operands and results of '@f'}}
  %y = nn.opaque_dx @f(%x, %x) {saved = array<i64: 5>, wrt = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
