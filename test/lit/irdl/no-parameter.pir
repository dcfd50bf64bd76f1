// An operation without operands that does not expand is no parameter, and is not silently left untrained.
// RUN: not piper-opt --load-dialect %S/Inputs/weights.pir --emit=plan %s 2>&1 | FileCheck %s

// CHECK: error: 'w.bare' is no kernel, but a device program launches
// CHECK-NEXT: --> {{.*}}no-parameter.pir:[[#@LINE+7]]
// CHECK: help: let it expand to operations of 'nn'; what is trained is 'nn.parameter' alone, to which it may expand

module @m {
  strategy.mesh @cluster <["dp" = 2]>
  func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
    %loss = strategy.annotate {PP = 0} {
      %w = w.bare "head" : tensor<4x6xf32>
      %v = nn.parameter "v" init = normal<0.0, 0.1> : tensor<6x6xf32>
      %h = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      %y = nn.linear %h, %v : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
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
