// What replicate refuses.
// RUN: piper-opt --pass replicate --split-input-file --verify-diagnostics %s

strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{the optimizer stands before 'strategy.replicate'}}
  strategy.optimizer sgd <lr = 0.1>
  // expected-note@+1 {{this changes what the optimizer works on}}
  strategy.replicate over "dp"
}
dag.graph @train_step of @loss on @cluster {
}

// -----

strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{the optimizer's step is in the graph already}}
  strategy.replicate over "dp"
}
dag.graph @train_step of @loss on @cluster {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @cluster>
  // expected-note@+1 {{updated here}}
  %n = dag.update sgd (%w, %w) lr = 0.1 {} : (!dag.dist<tensor<4xf32>, @cluster>, !dag.dist<tensor<4xf32>, @cluster>) -> !dag.dist<tensor<4xf32>, @cluster>
}

// -----

strategy.mesh @cluster <["dp" = 3]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  strategy.replicate over "dp"
}
// expected-error@+1 {{cannot divide a batch of 8 into 3 equal parts}}
func.func private @f0(%x: tensor<8xf32> {batch_dim = 0}) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
dag.graph @train_step of @loss on @cluster {
  %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8xf32>, @cluster>
  %y = dag.compute @f0(%x) F {PP = 0} node "f0" : (!dag.dist<tensor<8xf32>, @cluster>) -> !dag.dist<tensor<8xf32>, @cluster>
}

// -----

strategy.mesh @cluster <["pp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{the graph is already placed along "pp"}}
  strategy.replicate over "pp"
}
dag.graph @train_step of @loss on @cluster {
  // expected-note@+1 {{this has type}}
  %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8xf32>, @cluster on {pp = 0}>
}
