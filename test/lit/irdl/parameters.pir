// An operation that expands to a parameter is one for every pass: it is divided, and has a state of the optimizer.
// RUN: piper-opt --load-dialect %S/Inputs/weights.pir --emit=plan %s | FileCheck %s

// CHECK: state %head [4, 6] f32 init Normal { mean: 0.0, std: 0.1 }
// CHECK-NEXT: state %head.m [4, 6] f32
// CHECK: buffer %bucket0.m: 12 x f32
module @m {
  strategy.mesh @cluster <["dp" = 2]>
  func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %loss = strategy.annotate {PP = 0} {
      %w = w.weight "head" : tensor<4x6xf32>
      %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      %l = nn.cross_entropy %y, %targets {denominator = 8} : (tensor<8x6xf32>, tensor<8xi32>) -> tensor<f32>
      strategy.yield %l : tensor<f32>
    } : tensor<f32>
    func.return %loss : tensor<f32>
  }
  strategy.plan @train for @loss on @cluster {
    strategy.zero over "dp" stage = 3
    strategy.optimizer adamw <lr = 0.1>
  }
}
