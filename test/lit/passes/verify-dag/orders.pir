// Orders can be run: every node of the slice once, and no cycle with the data.
// RUN: piper-opt --pass verify-dag --split-input-file --verify-diagnostics %s

strategy.mesh @c <["pp" = 2]>
func.func private @loss()
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
dag.graph @step of @loss on @c microbatches 2 {
  %x = dag.input "x" : !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-error@+1 {{the graph cannot run: 'a' -> a 'dag.transfer' -> 'm' -> a 'dag.transfer' -> 'b' -> 'a' wait for each other}}
  %a = dag.compute @f(%x) F {PP = 0} node "a" : (!dag.dist<tensor<4xf32>, @c on {pp = 0}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-note@+2 {{uses what 'a' makes}}
  // The order on {pp = 0} wants b first, whose input comes back from a.
  %t = dag.transfer %a : !dag.dist<tensor<4xf32>, @c on {pp = 0}> -> !dag.dist<tensor<4xf32>, @c on {pp = 1}>
  // expected-note@+1 {{'m' uses what a 'dag.transfer' makes}}
  %m = dag.compute @f(%t) F {PP = 1} node "m" : (!dag.dist<tensor<4xf32>, @c on {pp = 1}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 1}>
  // expected-note@+1 {{a 'dag.transfer' uses what 'm' makes}}
  %u = dag.transfer %m : !dag.dist<tensor<4xf32>, @c on {pp = 1}> -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-note@+1 {{'b' uses what a 'dag.transfer' makes}}
  %b = dag.compute @f(%u) F {PP = 2} node "b" : (!dag.dist<tensor<4xf32>, @c on {pp = 0}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-note@+1 {{'b' runs before 'a' in the order of {pp = 0}}}
  dag.order on {pp = 0} [[@b], [@a]]
  dag.order on {pp = 1} [[@m]]
}

// -----

strategy.mesh @c <["pp" = 2]>
func.func private @loss()
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
dag.graph @step of @loss on @c {
  %x = dag.input "x" : !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-note@+2 {{the node is here}}
  // expected-note@+1 {{the node is here}}
  %a = dag.compute @f(%x) F {PP = 0} node "a" : (!dag.dist<tensor<4xf32>, @c on {pp = 0}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-error@+1 {{node 'b' is not in the order of its slice}}
  %b = dag.compute @f(%x) F {PP = 1} node "b" : (!dag.dist<tensor<4xf32>, @c on {pp = 0}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
  // expected-error@+2 {{node 'a' stands twice, but runs once}}
  // expected-note@+1 {{the order is here}}
  dag.order on {pp = 0} [[@a], [@a]]
  // expected-error@+1 {{node 'a' stands in two orders, but runs once}}
  dag.order on {pp = 1} [[@a]]
}
