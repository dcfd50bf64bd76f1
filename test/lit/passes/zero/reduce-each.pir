// Stage 2: each microbatch's contributions are packed and scattered at once, and shards are added up. The batch is divided over copies inside microbatches.
// RUN: piper-opt --pass-pipeline='builtin.module(zero{over=dp stage=2},update{rule=sgd lr=0.1})' %s | FileCheck %s
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

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["dp" = 2]>
// CHECK-NEXT:   func.func private @loss()
// CHECK-NEXT:   func.func private @f(%x: tensor<2x4xf32> {batch_dim = 0}, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:     %y = nn.linear %x, %w, %b : (tensor<2x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     func.return %y : tensor<2x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b(%x: tensor<2x4xf32> {batch_dim = 0}, %y: tensor<2x3xf32> {batch_dim = 0}, %w: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
// CHECK-NEXT:     %dx = nn.linear_dx %y, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %dw = nn.linear_dw %dx, %y : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:     %db = nn.sum_rows %y : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT:     func.return %dw, %db : tensor<4x3xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster microbatches 2 {
// CHECK-NEXT:     %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     %b = dag.parameter "b" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster>
// CHECK-NEXT:     %x0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "dp"}, {}]>
// CHECK-NEXT:     %x1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb", "dp"}, {}]>
// CHECK-NEXT:     %y0 = dag.compute @f(%x0, %w, %b) F {MB = 0} node "f.0" -> !dag.dist<tensor<8x3xf32>, @cluster on {mb = 0}, [{"mb", "dp"}, {}]>
// CHECK-NEXT:     %y1 = dag.compute @f(%x1, %w, %b) F {MB = 1} node "f.1" -> !dag.dist<tensor<8x3xf32>, @cluster on {mb = 1}, [{"mb", "dp"}, {}]>
// CHECK-NEXT:     %d0:2 = dag.compute @b(%x0, %y0, %w) B {MB = 0} node "b.0" -> (!dag.dist<tensor<4x3xf32>, @cluster, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<3xf32>, @cluster, partial = {"dp", mb[0:1]}>)
// CHECK-NEXT:     %d1:2 = dag.compute @b(%x1, %y1, %w) B {MB = 1} node "b.1" -> (!dag.dist<tensor<4x3xf32>, @cluster, partial = {"dp", mb[1:2]}>, !dag.dist<tensor<3xf32>, @cluster, partial = {"dp", mb[1:2]}>)
// CHECK-NEXT:     %bucket0_master = dag.state "bucket0.master" {init = {b = 12, w = 0}} : !dag.dist<tensor<16xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket0_flat_0 = dag.pack %d0#0, %d0#1 at array<i64: 0, 12> -> !dag.dist<tensor<16xf32>, @cluster, partial = {"dp", mb[0:1]}>
// CHECK-NEXT:     %bucket0_shard_0 = dag.reduce_scatter %bucket0_flat_0 over ["dp"] -> !dag.dist<tensor<16xf32>, @cluster, [{"dp"}], partial = {mb[0:1]}>
// CHECK-NEXT:     %bucket0_flat_1 = dag.pack %d1#0, %d1#1 at array<i64: 0, 12> -> !dag.dist<tensor<16xf32>, @cluster, partial = {"dp", mb[1:2]}>
// CHECK-NEXT:     %bucket0_shard_1 = dag.reduce_scatter %bucket0_flat_1 over ["dp"] -> !dag.dist<tensor<16xf32>, @cluster, [{"dp"}], partial = {mb[1:2]}>
// CHECK-NEXT:     %0 = dag.add %bucket0_shard_0, %bucket0_shard_1 -> !dag.dist<tensor<16xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket0_g = dag.gradient "bucket0" %0 -> !dag.dist<tensor<16xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket0.new = dag.update sgd(%bucket0_master, %bucket0_g) lr = 1.000000e-01 {weight_decay = 0.000000e+00} -> !dag.dist<tensor<16xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     dag.commit %bucket0_master, %bucket0.new : !dag.dist<tensor<16xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %1 = dag.all_gather %bucket0.new over ["dp"] -> !dag.dist<tensor<16xf32>, @cluster>
// CHECK-NEXT:     %2:2 = dag.unpack %1 at array<i64: 0, 12> -> (!dag.dist<tensor<4x3xf32>, @cluster>, !dag.dist<tensor<3xf32>, @cluster>)
// CHECK-NEXT:     dag.commit %w, %2#0 : !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     dag.commit %b, %2#1 : !dag.dist<tensor<3xf32>, @cluster>
// CHECK-NEXT:     dag.order on {} {{\[\[}}@f.0], [@b.0], [@f.1], [@b.1]]
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
