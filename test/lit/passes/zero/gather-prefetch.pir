// Stage 3 with prefetch: a gather is issued one use ahead. Buckets of 12 bytes hold one parameter each, of which the backward uses one.
// RUN: piper-opt --pass-pipeline='builtin.module(zero{over=dp stage=3 bucket=12B prefetch=1 reduce=last})' %s | FileCheck %s
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
// CHECK-NEXT:     %w = dag.parameter "w" in "bucket0.master" {init = #nn.init<zeros>} : !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     %b = dag.parameter "b" in "bucket1.master" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster>
// CHECK-NEXT:     %x0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"dp", "mb"}, {}]>
// CHECK-NEXT:     %x1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"dp", "mb"}, {}]>
// CHECK-NEXT:     %bucket0_full0 = dag.all_gather %bucket0_master over ["dp"] : (!dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>) -> !dag.dist<tensor<12xf32>, @cluster>
// CHECK-NEXT:     %w_0 = dag.unpack %bucket0_full0 at array<i64: 0> -> !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     %bucket1_full0 = dag.all_gather %bucket1_master over ["dp"] : (!dag.dist<tensor<4xf32>, @cluster, [{"dp"}]>) -> !dag.dist<tensor<4xf32>, @cluster>
// CHECK-NEXT:     %b_0 = dag.unpack %bucket1_full0 at array<i64: 0> -> !dag.dist<tensor<3xf32>, @cluster>
// CHECK-NEXT:     %y0 = dag.compute @f(%x0, %w_0, %b_0) F {MB = 0} node "f.0" -> !dag.dist<tensor<8x3xf32>, @cluster on {mb = 0}, [{"dp", "mb"}, {}]>
// CHECK-NEXT:     %bucket0_full2 = dag.all_gather %bucket0_master over ["dp"] after [@f.0] : (!dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>) -> !dag.dist<tensor<12xf32>, @cluster>
// CHECK-NEXT:     %w_1 = dag.unpack %bucket0_full2 at array<i64: 0> -> !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     %bucket1_full1 = dag.all_gather %bucket1_master over ["dp"] after [@f.0] : (!dag.dist<tensor<4xf32>, @cluster, [{"dp"}]>) -> !dag.dist<tensor<4xf32>, @cluster>
// CHECK-NEXT:     %b_1 = dag.unpack %bucket1_full1 at array<i64: 0> -> !dag.dist<tensor<3xf32>, @cluster>
// CHECK-NEXT:     %y1 = dag.compute @f(%x1, %w_1, %b_1) F {MB = 1} node "f.1" -> !dag.dist<tensor<8x3xf32>, @cluster on {mb = 1}, [{"dp", "mb"}, {}]>
// CHECK-NEXT:     %bucket0_full1 = dag.all_gather %bucket0_master over ["dp"] : (!dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>) -> !dag.dist<tensor<12xf32>, @cluster>
// CHECK-NEXT:     %w_2 = dag.unpack %bucket0_full1 at array<i64: 0> -> !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     %d0:2 = dag.compute @b(%x0, %y0, %w_2) B {MB = 0} node "b.0" -> (!dag.dist<tensor<4x3xf32>, @cluster, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<3xf32>, @cluster, partial = {"dp", mb[0:1]}>)
// CHECK-NEXT:     %bucket0_full3 = dag.all_gather %bucket0_master over ["dp"] after [@b.0] : (!dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>) -> !dag.dist<tensor<12xf32>, @cluster>
// CHECK-NEXT:     %w_3 = dag.unpack %bucket0_full3 at array<i64: 0> -> !dag.dist<tensor<4x3xf32>, @cluster>
// CHECK-NEXT:     %d1:2 = dag.compute @b(%x1, %y1, %w_3) B {MB = 1} node "b.1" -> (!dag.dist<tensor<4x3xf32>, @cluster, partial = {"dp", mb[1:2]}>, !dag.dist<tensor<3xf32>, @cluster, partial = {"dp", mb[1:2]}>)
// CHECK-NEXT:     %sw = dag.add %d0#0, %d1#0 -> !dag.dist<tensor<4x3xf32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:     %sb = dag.add %d0#1, %d1#1 -> !dag.dist<tensor<3xf32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:     %bucket0_master = dag.state "bucket0.master" {init = {w = 0}} : !dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket0_flat = dag.pack %sw at array<i64: 0> -> !dag.dist<tensor<12xf32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:     %bucket0_shard = dag.reduce_scatter %bucket0_flat over ["dp"] -> !dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket0_g = dag.gradient "bucket0" %bucket0_shard -> !dag.dist<tensor<12xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket1_master = dag.state "bucket1.master" {init = {b = 0}} : !dag.dist<tensor<4xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket1_flat = dag.pack %sb at array<i64: 0> -> !dag.dist<tensor<4xf32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:     %bucket1_shard = dag.reduce_scatter %bucket1_flat over ["dp"] -> !dag.dist<tensor<4xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %bucket1_g = dag.gradient "bucket1" %bucket1_shard -> !dag.dist<tensor<4xf32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     dag.order on {} {{\[\[}}@f.0], [@b.0], [@f.1], [@b.1]]
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
