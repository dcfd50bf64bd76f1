// A plan without an optimizer computes gradients for nobody; with probe-gradients they are outputs.
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,pipeline,lower-to-device)' --verify-diagnostics %s
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,pipeline,lower-to-device{probe-gradients},memory-plan,verify-device)' %s | FileCheck %s
// CHECK: device.output "grad.w0"

strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    // expected-error@+1 {{nothing uses the gradient of "w0": the plan has no optimizer}}
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
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 2
}
