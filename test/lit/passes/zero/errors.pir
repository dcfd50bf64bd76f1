// A node that uses more buckets than may be kept, a second sharding, and options that contradict a directive.
// RUN: not piper-opt --pass-pipeline='builtin.module(zero{over=dp stage=3 bucket=12B gather=1})' %s 2>&1 | FileCheck %s --check-prefix=LIVE
// LIVE: error: 'gather' keeps 1 bucket(s) at a time, but node 'f.0' uses 2 at once
// LIVE: help: gather = "2", or group = "segment" for fewer, larger buckets
// RUN: not piper-opt --pass-pipeline='builtin.module(zero{over=dp},zero{over=ep stage=2})' %s 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: the graph's state is sharded already, and is sharded over one axis
// TWICE: help: replicate over the other axes first, and put strategy.zero last: whole parameters are then sharded over all of them
// RUN: not piper-opt --pass-pipeline='builtin.module(zero{over=dp},zero{over=dp})' %s 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: the graph is already replicated over "dp"
// RUN: not piper-opt --pass-pipeline='builtin.module(zero{over=dq})' %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: the mesh has no axis "dq"
// UNKNOWN: help: did you mean "dp"?
// RUN: not piper-opt --pass-pipeline='builtin.module(update{rule=sgd lr=0.1},zero{over=dp stage=3})' %s 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: the optimizer's step is in the graph already, so it cannot be replicated any more
// RUN: not piper-opt --pass-pipeline='builtin.module(zero{over=dp stage=2 gather=keep})' %s 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: option 'gather' makes no sense at stage 2: every device has the whole parameters
strategy.mesh @cluster <["dp" = 2, "ep" = 2]>

func.func private @loss()
func.func private @f(%x: tensor<4x4xf32> {batch_dim = 0}, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %y = nn.linear %x, %w, %b : (tensor<4x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
func.func private @b(%x: tensor<4x4xf32> {batch_dim = 0}, %y: tensor<4x3xf32> {batch_dim = 0}, %w: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %dx = nn.linear_dx %y, %w : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %dw = nn.linear_dw %dx, %y : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %db = nn.sum_rows %y : (tensor<4x3xf32>) -> tensor<3xf32>
  func.return %dw, %db : tensor<4x3xf32>, tensor<3xf32>
}

!x0 = !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>
!x1 = !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb"}, {}]>
!y0 = !dag.dist<tensor<8x3xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>
!y1 = !dag.dist<tensor<8x3xf32>, @cluster on {mb = 1}, [{"mb"}, {}]>
!w = !dag.dist<tensor<4x3xf32>, @cluster>
!b = !dag.dist<tensor<3xf32>, @cluster>
!w0 = !dag.dist<tensor<4x3xf32>, @cluster, partial = {mb[0:1]}>
!w1 = !dag.dist<tensor<4x3xf32>, @cluster, partial = {mb[1:2]}>
!b0 = !dag.dist<tensor<3xf32>, @cluster, partial = {mb[0:1]}>
!b1 = !dag.dist<tensor<3xf32>, @cluster, partial = {mb[1:2]}>

dag.graph @train_step of @loss on @cluster microbatches 2 {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !w
  %b = dag.parameter "b" {init = #nn.init<zeros>} : !b
  %x0 = dag.input "x" {batch_dim = 0} : !x0
  %x1 = dag.input "x" {batch_dim = 0} : !x1
  %y0 = dag.compute @f(%x0, %w, %b) F {MB = 0} node "f.0" : (!x0, !w, !b) -> !y0
  %y1 = dag.compute @f(%x1, %w, %b) F {MB = 1} node "f.1" : (!x1, !w, !b) -> !y1
  %d0:2 = dag.compute @b(%x0, %y0, %w) B {MB = 0} node "b.0" : (!x0, !y0, !w) -> (!w0, !b0)
  %d1:2 = dag.compute @b(%x1, %y1, %w) B {MB = 1} node "b.1" : (!x1, !y1, !w) -> (!w1, !b1)
  %sw = dag.add %d0#0, %d1#0 : (!w0, !w1) -> !w
  %sb = dag.add %d0#1, %d1#1 : (!b0, !b1) -> !b
  %gw = dag.gradient "w" %sw : !w -> !w
  %gb = dag.gradient "b" %sb : !b -> !b
  dag.order on {} [[@f.0], [@b.0], [@f.1], [@b.1]]
}
