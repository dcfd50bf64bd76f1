// An operation that does not say how its dimensions correspond is not taken for one that does the same everywhere.
// RUN: piper-opt --pass replicate --allow-unregistered-dialect --verify-diagnostics %s

strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  strategy.replicate over "dp"
}
func.func private @f0(%x: tensor<8x4xf32> {batch_dim = 0}) -> tensor<8x4xf32> {
  // expected-error@+1 {{the batch cannot be divided here: 'mine.mix' does not say how its dimensions correspond}}
  %y = "mine.mix"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}
dag.graph @train_step of @loss on @cluster {
  %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster>
  %y = dag.compute @f0(%x) F {PP = 0} node "f0" -> !dag.dist<tensor<8x4xf32>, @cluster>
}
