// RUN: not piper-opt --pass-pipeline='builtin.module(lower-to-device)' %s 2>&1 | FileCheck %s

// An order that wants a node before what it waits for. The circle is printed, each step with its reason.

// CHECK: error: the step cannot run: '{{.*}}' waits for itself
// CHECK: waits for '{{.*}}', which is before it in the order on {pp = 1}

!x0 = !dag.dist<tensor<8x4xf32>, @c on {mb = 0, pp = 0}, [{"dp", "mb"}, {}]>
!x1 = !dag.dist<tensor<8x4xf32>, @c on {mb = 1, pp = 0}, [{"dp", "mb"}, {}]>
!y0 = !dag.dist<tensor<8x4xf32>, @c on {mb = 0, pp = 1}, [{"dp", "mb"}, {}]>
!y1 = !dag.dist<tensor<8x4xf32>, @c on {mb = 1, pp = 1}, [{"dp", "mb"}, {}]>
!w = !dag.dist<tensor<4x4xf32>, @c on {pp = 1}>
!g0 = !dag.dist<tensor<4x4xf32>, @c on {pp = 1}, partial = {"dp", mb[0:1]}>
!g1 = !dag.dist<tensor<4x4xf32>, @c on {pp = 1}, partial = {"dp", mb[1:2]}>
!g = !dag.dist<tensor<4x4xf32>, @c on {pp = 1}, partial = {"dp"}>
!l0 = !dag.dist<tensor<f32>, @c on {pp = 1}, partial = {"dp", mb[0:1]}>
!l1 = !dag.dist<tensor<f32>, @c on {pp = 1}, partial = {"dp", mb[1:2]}>

strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @f0(tensor<2x4xf32>) -> tensor<2x4xf32>
func.func private @f1(tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<f32>
func.func private @b1(tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>

dag.graph @train of @loss on @c microbatches 2 {
  %w = dag.parameter "w" {init = #nn.init<ones>} : !w
  %x0 = dag.input "x" : !x0
  %x1 = dag.input "x" : !x1
  %a0 = dag.compute @f0(%x0) F {MB = 0, PP = 0} node "f0.0" : (!x0) -> !x0
  %a1 = dag.compute @f0(%x1) F {MB = 1, PP = 0} node "f0.1" : (!x1) -> !x1
  %t0 = dag.transfer %a0 : !x0 -> !y0
  %t1 = dag.transfer %a1 : !x1 -> !y1
  %l0 = dag.compute @f1(%t0, %w) F {MB = 0, PP = 1} node "f1.0" : (!y0, !w) -> !l0
  %l1 = dag.compute @f1(%t1, %w) F {MB = 1, PP = 1} node "f1.1" : (!y1, !w) -> !l1
  %g0 = dag.compute @b1(%t0, %w) B {MB = 0, PP = 1} node "b1.0" : (!y0, !w) -> !g0
  %g1 = dag.compute @b1(%t1, %w) B {MB = 1, PP = 1} node "b1.1" : (!y1, !w) -> !g1
  %g = dag.add %g0, %g1 : (!g0, !g1) -> !g
  %r = dag.all_reduce %g over ["dp"] : !g -> !w
  %d = dag.gradient "w" %r : !w -> !w
  %n = dag.update sgd (%w, %d) lr = 0.1 {weight_decay = 0.0} : (!w, !w) -> !w
  dag.commit %w, %n : !w
  dag.output "loss" %l0, %l1 : !l0, !l1
  dag.order on {pp = 0} [[@f0.0], [@f0.1]]
  dag.order on {pp = 1} [[@b1.0], [@f1.1], [@b1.1], [@f1.0], [@f1.1]]
}
