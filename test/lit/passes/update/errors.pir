// What update refuses.
// RUN: piper-opt --pass update --split-input-file --verify-diagnostics %s

strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{the optimizer comes before 'strategy.replicate', which changes what it works on}}
  strategy.optimizer sgd <lr = 0.1>
  // expected-note@+1 {{this is not applied yet}}
  strategy.replicate over "dp"
}
dag.graph @train_step of @loss on @cluster {
}

// -----

strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  strategy.update sgd <lr = 0.1>
}
dag.graph @train_step of @loss on @cluster {
  %dw = dag.input "dw" : !dag.dist<tensor<4xf32>, @cluster>
  // expected-error@+1 {{there is no parameter "w" for this gradient}}
  %g = dag.gradient "w" %dw : !dag.dist<tensor<4xf32>, @cluster> -> !dag.dist<tensor<4xf32>, @cluster>
}

// -----

strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
// expected-error@+1 {{pass 'update' has nothing to do: the plan has no strategy.optimizer}}
dag.graph @train_step of @loss on @cluster {
}
