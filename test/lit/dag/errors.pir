// The rules by which distributions may change.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %a = dag.input "a" : !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>
  // expected-error@+1 {{'dag.add': the contribution of microbatch 0 would be counted twice}}
  %s = dag.add %a, %a : (!dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>, !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>) -> !dag.dist<tensor<4xf32>, @c>
  // expected-note@+1 {{the value is made here}}
  %b = dag.input "b" : !dag.dist<tensor<4xf32>, @c, partial = {"dp", mb[0:1]}>
  // expected-error@+1 {{takes a complete gradient, but the sum over "dp" and the contributions of microbatches 1..2 is missing}}
  %g = dag.gradient "w" %b : !dag.dist<tensor<4xf32>, @c, partial = {"dp", mb[0:1]}> -> !dag.dist<tensor<4xf32>, @c, partial = {"dp", mb[0:1]}>
  // expected-error@+1 {{'dag.all_reduce' sums over 'pp', but the value is not a partial sum over it: it would be multiplied}}
  %r = dag.all_reduce %b over ["pp"] : !dag.dist<tensor<4xf32>, @c, partial = {"dp", mb[0:1]}> -> !dag.dist<tensor<4xf32>, @c, partial = {"dp", mb[0:1]}>
}

// -----

strategy.mesh @c <["pp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-error@+1 {{a transfer goes to another slice}}
  %t = dag.transfer %w : !dag.dist<tensor<4xf32>, @c on {pp = 0}> -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-note@+1 {{the value is defined here}}
  %x = dag.input "x" : !dag.dist<tensor<4xf32>, @c on {pp = 1}>
  // expected-error@+1 {{'dag.compute' runs on {pp = 0}, but uses a value that lives on {pp = 1}}}
  %y = dag.compute @loss(%x) F {PP = 0} node "f" : (!dag.dist<tensor<4xf32>, @c on {pp = 1}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-error@+1 {{gives a dag.parameter or dag.state a new value of its own type}}
  dag.commit %x, %x : !dag.dist<tensor<4xf32>, @c on {pp = 1}>
}

// -----

strategy.mesh @cluster <["ep" = 2]>
func.func private @model()
dag.graph @step of @model on @cluster {
  %x = dag.input "x" : !dag.dist<tensor<8x4xf32>, @cluster, [{"ep"}, {}]>
  // expected-error@+1 {{'dag.all_to_all': dimension 1 of the value is not sharded over these axes, minor to all others}}
  %a = dag.all_to_all %x over ["ep"] from 1 to 0 -> !dag.dist<tensor<8x4xf32>, @cluster, [{"ep"}, {}]>
  // expected-error@+1 {{'dag.all_to_all': the value has dimensions 0 to 1, not 0 and 2}}
  %b = dag.all_to_all %x over ["ep"] from 0 to 2 -> !dag.dist<tensor<8x4xf32>, @cluster, [{"ep"}, {}]>
  // expected-error@+1 {{'dag.all_to_all': dimension 0 is both where they leave and where they go}}
  %c = dag.all_to_all %x over ["ep"] from 0 to 0 -> !dag.dist<tensor<8x4xf32>, @cluster, [{"ep"}, {}]>
  // expected-error@+1 {{'dag.all_to_all' has result type}}
  %d = dag.all_to_all %x over ["ep"] from 0 to 1 -> !dag.dist<tensor<8x4xf32>, @cluster, [{"ep"}, {}]>
}

// -----

// A whole tensor among parts.
strategy.mesh @c <["tp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c {
  %a = dag.parameter "a" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c, [{"tp"}]>
  %b = dag.parameter "b" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  // expected-error@+1 {{'dag.pack' cannot lay out !dag.dist<tensor<4xf32>, @c>}}
  %flat = dag.pack %a, %b at array<i64: 0, 2> -> !dag.dist<tensor<8xf32>, @c, [{"tp"}]>
}
