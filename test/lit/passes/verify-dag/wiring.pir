// An optimizer's operands have one type, so they can be mistaken for each other.
// RUN: piper-opt --pass verify-dag --split-input-file --verify-diagnostics %s

!w = !dag.dist<tensor<4xf32>, @c>
strategy.mesh @c <["dp" = 1]>
func.func private @loss()
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func private @b(tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
dag.graph @step of @loss on @c {
  // expected-note@+1 {{it is declared here}}
  %v = dag.parameter "v" {init = #nn.init<zeros>} : !w
  // expected-note@+1 {{it is declared here}}
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !w
  %a = dag.compute @f(%v) F {PP = 0} node "f" : (!w) -> !w
  %d:2 = dag.compute @b(%a, %w) B {PP = 0} node "b" : (!w, !w) -> (!w, !w)
  // expected-note@+1 {{the gradient is here}}
  %g = dag.gradient "v" %d#0 : !w -> !w
  %h = dag.gradient "w" %d#1 : !w -> !w
  // The parameter is another one's.
  // expected-error@+1 {{the update by the gradient of "v" takes w for "v"}}
  %n = dag.update sgd (%w, %g) lr = 0.1 {weight_decay = 0.0} : (!w, !w) -> !w
  %m = dag.update sgd (%w, %h) lr = 0.1 {weight_decay = 0.0} : (!w, !w) -> !w
  // What is written back too.
  // expected-error@+1 {{what is written to "v" is not what an update of it gives}}
  dag.commit %v, %m : !w
  // expected-error@+1 {{what is written to "w" is not what an update of it gives}}
  dag.commit %w, %h : !w
}

// -----

// A gradient that is no dag.gradient, and one that is used twice.
!w = !dag.dist<tensor<4xf32>, @c>
strategy.mesh @c <["dp" = 1]>
func.func private @loss()
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
dag.graph @step of @loss on @c {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !w
  %a = dag.compute @f(%w) F {PP = 0} node "f" : (!w) -> !w
  %d = dag.compute @f(%a) B {PP = 0} node "b" : (!w) -> !w
  %g = dag.gradient "w" %d : !w -> !w
  // expected-error@+1 {{an update takes the complete gradient that a dag.gradient gives}}
  %k = dag.update sgd (%w, %d) lr = 0.1 {weight_decay = 0.0} : (!w, !w) -> !w
  // expected-note@+1 {{the other one is here}}
  %n = dag.update sgd (%w, %g) lr = 0.1 {weight_decay = 0.0} : (!w, !w) -> !w
  // expected-error@+1 {{the gradient of "w" is used by two updates}}
  %m = dag.update sgd (%w, %g) lr = 0.1 {weight_decay = 0.0} : (!w, !w) -> !w
  dag.commit %w, %n : !w
}
