// One home: no group, no collective.
// RUN: piper-opt --pass update %s | FileCheck %s
strategy.mesh @cluster <["dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  strategy.optimizer sgd <lr = warmup_constant<peak = 0.1, warmup = 10>, clip = 2.0>
}
dag.graph @train_step of @loss on @cluster {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @cluster>
  %dw = dag.input "dw" : !dag.dist<tensor<4x4xf32>, @cluster>
  %g = dag.gradient "w" %dw : !dag.dist<tensor<4x4xf32>, @cluster> -> !dag.dist<tensor<4x4xf32>, @cluster>
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["dp" = 2]>
// CHECK-NEXT:   func.func private @loss()
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster {
// CHECK-NEXT:     %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     %dw = dag.input "dw" : !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     %g = dag.gradient "w" %dw -> !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     %0 = dag.sum_squares %g -> !dag.dist<tensor<f64>, @cluster>
// CHECK-NEXT:     %1 = dag.clip_scale %0 max 2.000000e+00 -> !dag.dist<tensor<f32>, @cluster>
// CHECK-NEXT:     %w.new = dag.update sgd(%w, %g, %1) lr = {kind = "warmup_constant", peak = 1.000000e-01, warmup = 10} {weight_decay = 0.000000e+00} clipped -> !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     dag.commit %w, %w.new : !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
