// Two steps of a pipeline beside one device, at every level that needs no machine code: the same numbers, to the bit.
// REQUIRES: piper-run
// RUN: piper-run %s --data %s --steps 2 --level kernel --compare-single --fixed-tree 2>&1 | FileCheck %s
// RUN: piper-run %s --data %s --steps 2 --level device --compare-single --fixed-tree 2>&1 | FileCheck %s
// RUN: piper-run %s --data %s --steps 2 --level dag --compare-single --fixed-tree 2>&1 | FileCheck %s

// CHECK: bitwise     equal: every loss, gradient and parameter of every step
// CHECK: verdict     the same numbers

strategy.mesh @cluster <["pp" = 2, "dp" = 2]>

func.func @loss(%tokens: tensor<8x4xi32> {role = "data", batch_dim = 0}, %targets: tensor<8x4xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %wte = nn.parameter "wte" init = normal<0.0, 0.1> : tensor<256x8xf32>
    %e = nn.embedding %tokens, %wte : (tensor<8x4xi32>, tensor<256x8xf32>) -> tensor<8x4x8xf32>
    strategy.yield %e : tensor<8x4x8xf32>
  } : tensor<8x4x8xf32>
  %left = strategy.annotate {PP = 0, BRANCH = "left"} {
    %w = nn.parameter "left" init = normal<0.0, 0.1> : tensor<8x8xf32>
    %y = nn.linear %h, %w : (tensor<8x4x8xf32>, tensor<8x8xf32>) -> tensor<8x4x8xf32>
    strategy.yield %y : tensor<8x4x8xf32>
  } : tensor<8x4x8xf32>
  %right = strategy.annotate {PP = 1, BRANCH = "right"} {
    %w = nn.parameter "right" init = normal<0.0, 0.1> : tensor<8x8xf32>
    %y = nn.linear %h, %w : (tensor<8x4x8xf32>, tensor<8x8xf32>) -> tensor<8x4x8xf32>
    %g = nn.gelu %y : tensor<8x4x8xf32>
    strategy.yield %g : tensor<8x4x8xf32>
  } : tensor<8x4x8xf32>
  %l = strategy.annotate {PP = 1} {
    // Both branches, and a skip connection from the first stage.
    %both = nn.add %left, %right : tensor<8x4x8xf32>
    %all = nn.add %both, %h : tensor<8x4x8xf32>
    %head = nn.parameter "head" init = normal<0.0, 0.1> : tensor<8x256xf32>
    %logits = nn.linear %all, %head : (tensor<8x4x8xf32>, tensor<8x256xf32>) -> tensor<8x4x256xf32>
    %loss = nn.cross_entropy %logits, %targets {denominator = 32} : (tensor<8x4x256xf32>, tensor<8x4xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.zero over "dp" stage = 1
  strategy.optimizer adamw <lr = 1.0e-2, clip = 1.0>
}
