// A bucket larger than the memory of a device.
// RUN: not piper-opt --pass-pipeline='builtin.module(zero{over=dp limit=40B})' %s 2>&1 | FileCheck %s
// CHECK: error: a bucket of 64 bytes does not fit into the memory of 40 bytes
// CHECK: note: it has 2 parameters, "w" to "b"
// CHECK: help: write a bucket of at most 40 bytes
strategy.mesh @cluster <["dp" = 2]>

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
