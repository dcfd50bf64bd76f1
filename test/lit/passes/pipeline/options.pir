// The pass acts by its options as if a directive stood in the plan; one that is there and says otherwise is an error.
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,pipeline{axis=pp stages=PP schedule=gpipe microbatches=2})' %s | FileCheck %s
// RUN: not piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,pipeline{axis=pp stages=PP schedule=gpipe microbatches=2},pipeline)' %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,pipeline{stages=PP schedule=gpipe microbatches=2})' %s 2>&1 | FileCheck %s --check-prefix=LACK

strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
}

// CHECK: dag.order on {pp = 0} {{\[\[}}@f0.0], [@f0.1], [@b0.0], [@b0.1]]
// CHECK-NEXT: dag.order on {pp = 1} {{\[\[}}@f1.0], [@f1.1], [@b1.0], [@b1.1]]
// NONE: error: pass 'pipeline' has nothing to do: no plan has a 'strategy.pipeline'
// LACK: error: the options of pass 'pipeline' lack 'axis'
