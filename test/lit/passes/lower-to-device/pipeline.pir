// RUN: piper-opt --pass-pipeline='builtin.module(lower-to-device)' %s | FileCheck %s

// Two ranks, two microbatches, two replicas. A transfer is one place in the global order: a send in one program and a
// receive in the other. Gradients accumulate in place, and are summed over the replicas in place.

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

// CHECK:       device.plan "train" of @train on @c {
// CHECK-DAG:     device.state "w" : tensor<4x4xf32> init #nn.init<ones>
// CHECK-DAG:     device.comm @p2p members []
// CHECK-DAG:     device.comm @dp members [{dp = 0}, {dp = 1}]
// CHECK-DAG:     device.kernel @accumulate_16xf32 accumulate {} : (memref<16xf32>, memref<16xf32>) -> ()
// CHECK-LABEL:   device.program @pp0 for {pp = 0} streams ["compute", "comm"] {
// CHECK:           device.load_input "x" rows 2 from 0 strides {dp = 4} to %[[X0:.*]] on "compute"
// CHECK-NEXT:      device.launch @f0 reads(%[[X0]]) writes(%[[Y0:.*]]) on "compute" name "f0.0"
// CHECK-NEXT:      device.record [[E0:[0-9]+]] on "compute"
// CHECK:           device.wait [[E0]] on "comm"
// CHECK-NEXT:      device.send %[[Y0]] to {pp = 1} over @p2p tag [[T0:[0-9]+]] on "comm"
// CHECK:           device.load_input "x" rows 2 from 2 strides {dp = 4}
// CHECK:           device.send %{{.*}} to {pp = 1} over @p2p tag [[T1:[0-9]+]] on "comm"
// CHECK-LABEL:   device.program @pp1 for {pp = 1} streams ["compute", "comm"] {
// CHECK:           %w = device.buffer "w" : memref<16xf32> persistent
// CHECK-NEXT:      device.home %w of "w" bucket 0 len 16
// CHECK:           device.recv %{{.*}} from {pp = 0} over @p2p tag [[T0]] on "comm"
// CHECK:           device.recv %{{.*}} from {pp = 0} over @p2p tag [[T1]] on "comm"
// CHECK:           device.launch @b1 reads({{.*}}, %w) writes(%[[G0:.*]]) on "compute" name "b1.0"
// CHECK:           device.launch @b1 reads({{.*}}, %w) writes(%[[G1:.*]]) on "compute" name "b1.1"
// CHECK:           device.launch @accumulate_16xf32 reads(%[[G1]]) updates(%[[G0]])
// CHECK:           device.all_reduce %[[G0]] to %[[G0]] over @dp on "comm"
// CHECK:           device.launch @sgd_16xf32 reads(%[[G0]]) updates(%w) scalars ["lr"]
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
  dag.order on {pp = 1} [[@f1.0], [@b1.0], [@f1.1], [@b1.1]]
}
