// Contributions are followed through the data, not read off the types: here the types are right and the data is not.
// RUN: piper-opt --pass verify-dag --split-input-file --verify-diagnostics %s

strategy.mesh @c <["dp" = 1]>
func.func private @loss()
func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32> {
  func.return %w : tensor<4xf32>
}
dag.graph @step of @loss on @c microbatches 2 {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  %a = dag.compute @f(%w) F {MB = 0, PP = 0} node "f.0" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  %b = dag.compute @f(%w) F {MB = 1, PP = 0} node "f.1" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  // expected-note@+1 {{one is made here}}
  %d = dag.compute @f(%a) B {MB = 0, PP = 0} node "b.0" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>
  // The tag says microbatch 0 again, the type says 1.
  // expected-note@+1 {{the other is made here}}
  %e = dag.compute @f(%b) B {MB = 0, PP = 0} node "b.1" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c, partial = {mb[1:2]}>
  %s = dag.add %e, %d : (!dag.dist<tensor<4xf32>, @c, partial = {mb[1:2]}>, !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>) -> !dag.dist<tensor<4xf32>, @c>
  // expected-error@+1 {{the gradient of "w" has two contributions of segment {PP = 0} and microbatch 0}}
  %g = dag.gradient "w" %s : !dag.dist<tensor<4xf32>, @c> -> !dag.dist<tensor<4xf32>, @c>
}

// -----

strategy.mesh @c <["dp" = 1]>
func.func private @loss()
func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32> {
  func.return %w : tensor<4xf32>
}
dag.graph @step of @loss on @c microbatches 2 {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  %a = dag.compute @f(%w) F {MB = 0, PP = 0} node "f.0" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  %b = dag.compute @f(%w) F {MB = 1, PP = 0} node "f.1" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  %d = dag.compute @f(%a) B {MB = 0, PP = 0} node "b.0" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  // expected-error@+1 {{result 0 of B node 'b.1' is not used, so a part of the gradient is lost}}
  %e = dag.compute @f(%b) B {MB = 1, PP = 0} node "b.1" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  // expected-error@+1 {{the gradient of "w" lacks the contribution of segment {PP = 0} for microbatch 1}}
  %g = dag.gradient "w" %d : !dag.dist<tensor<4xf32>, @c> -> !dag.dist<tensor<4xf32>, @c>
}

// -----

strategy.mesh @c <["dp" = 1]>
func.func private @loss()
// expected-note@+1 {{the body is here}}
func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32> {
  func.return %w : tensor<4xf32>
}
dag.graph @step of @loss on @c {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<5xf32>, @c>
  // expected-error@+1 {{operand 0 of node 'f' is tensor<5xf32> on each device, but '@f' takes tensor<4xf32>}}
  %a = dag.compute @f(%w) F {PP = 0} node "f" : (!dag.dist<tensor<5xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  // expected-error@+1 {{there is no axis or group "tp"}}
  %i = dag.input "i" : !dag.dist<tensor<4xf32>, @c, [{"tp"}]>
  // expected-error@+1 {{axis "dp" has coordinates 0 to 0, not 1}}
  %j = dag.input "j" : !dag.dist<tensor<4xf32>, @c on {dp = 1}>
  // expected-error@+1 {{the axis "dp" is used twice}}
  %k = dag.input "k" : !dag.dist<tensor<4xf32>, @c on {dp = 0}, [{"dp"}]>
}

// -----

strategy.mesh @c <["dp" = 1]>
func.func private @loss()
func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32> {
  func.return %w : tensor<4xf32>
}
func.func private @frozen(%w: tensor<4xf32>) -> tensor<4xf32> {
  %s = nn.stop_gradient %w : tensor<4xf32>
  func.return %s : tensor<4xf32>
}
dag.graph @step of @loss on @c {
  // expected-error@+1 {{the parameter "v" has no gradient, so it is not trained}}
  %v = dag.parameter "v" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  %u = dag.parameter "u" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  // expected-error@+1 {{the parameter "w" gets no new value, though there is an optimizer}}
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  // expected-note@+1 {{it is declared here}}
  %m = dag.state "w.m" {init = 0.0} : !dag.dist<tensor<4xf32>, @c>
  %a = dag.compute @f(%v) F {PP = 0} node "f0" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  %b = dag.compute @frozen(%u) F {PP = 1} node "f1" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  %d = dag.compute @f(%w) B {PP = 0} node "b0" : (!dag.dist<tensor<4xf32>, @c>) -> !dag.dist<tensor<4xf32>, @c>
  %g = dag.gradient "w" %d : !dag.dist<tensor<4xf32>, @c> -> !dag.dist<tensor<4xf32>, @c>
  %n:2 = dag.update sgd (%w, %g, %m) lr = 0.1 {momentum = 0.9} : (!dag.dist<tensor<4xf32>, @c>, !dag.dist<tensor<4xf32>, @c>, !dag.dist<tensor<4xf32>, @c>) -> (!dag.dist<tensor<4xf32>, @c>, !dag.dist<tensor<4xf32>, @c>)
  // expected-note@+1 {{first written here}}
  dag.commit %m, %n#1 : !dag.dist<tensor<4xf32>, @c>
  // expected-error@+2 {{"w.m" is written twice in a step}}
  // expected-error@+1 {{what is written to "w.m" is not what an update of it gives}}
  dag.commit %m, %n#0 : !dag.dist<tensor<4xf32>, @c>
}
