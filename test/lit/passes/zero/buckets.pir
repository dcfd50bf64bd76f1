// Gradients go into flat buckets of their home, in the order in which they become complete, padded to the number of shards. What lives
// on a group is sharded over the group and "dp" together; its sum over the group becomes part of the reduce_scatter.
// RUN: piper-opt --pass-pipeline='builtin.module(zero{over=dp bucket=80B})' %s | FileCheck %s
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
strategy.group @own on @cluster [{pp = 0}, {pp = 1}]

func.func private @loss()
func.func private @b0(%x: tensor<8x4xf32> {batch_dim = 0}, %dy: tensor<8x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %db = nn.sum_rows %dy : (tensor<8x3xf32>) -> tensor<3xf32>
  func.return %dw, %db : tensor<4x3xf32>, tensor<3xf32>
}
func.func private @b1(%x: tensor<8x4xf32> {batch_dim = 0}, %dy: tensor<8x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<4x4xf32>, tensor<3xf32>) {
  %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %dc = nn.linear_dw %x, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dd = nn.sum_rows %dy : (tensor<8x3xf32>) -> tensor<3xf32>
  func.return %dw, %dc, %dd : tensor<4x3xf32>, tensor<4x4xf32>, tensor<3xf32>
}

dag.graph @train_step of @loss on @cluster {
  %tied = dag.parameter "tied" {init = #nn.init<zeros>} : !dag.dist<tensor<4x3xf32>, @cluster on @own>
  %b = dag.parameter "b" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
  %c = dag.parameter "c" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
  %d = dag.parameter "d" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster on {pp = 1}>
  %x0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 0}>
  %y0 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 0}>
  %x1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 1}>
  %y1 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 1}>
  %d1:3 = dag.compute @b1(%x1, %y1) B {PP = 1} node "b1" : (!dag.dist<tensor<8x4xf32>, @cluster on {pp = 1}>, !dag.dist<tensor<8x3xf32>, @cluster on {pp = 1}>) -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 1}, partial = {use 1/2 mb[0:1]}>, !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 1}>)
  %d0:2 = dag.compute @b0(%x0, %y0) B {PP = 0} node "b0" : (!dag.dist<tensor<8x4xf32>, @cluster on {pp = 0}>, !dag.dist<tensor<8x3xf32>, @cluster on {pp = 0}>) -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 0}, partial = {use 0/2 mb[0:1]}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>)
  %j = dag.join %d0#0, %d1#0 : (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 0}, partial = {use 0/2 mb[0:1]}>, !dag.dist<tensor<4x3xf32>, @cluster on {pp = 1}, partial = {use 1/2 mb[0:1]}>) -> !dag.dist<tensor<4x3xf32>, @cluster on @own, partial = {"own"}>
  %s = dag.all_reduce %j over [@own] : !dag.dist<tensor<4x3xf32>, @cluster on @own, partial = {"own"}> -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
  %gt = dag.gradient "tied" %s : !dag.dist<tensor<4x3xf32>, @cluster on @own> -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
  %gb = dag.gradient "b" %d0#1 : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}> -> !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
  %gd = dag.gradient "d" %d1#2 : !dag.dist<tensor<3xf32>, @cluster on {pp = 1}> -> !dag.dist<tensor<3xf32>, @cluster on {pp = 1}>
  %gc = dag.gradient "c" %d1#1 : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}> -> !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
// CHECK-NEXT:   strategy.group @own on @cluster [{pp = 0}, {pp = 1}]
// CHECK-NEXT:   func.func private @loss()
// CHECK-NEXT:   func.func private @b0(%x: tensor<4x4xf32> {batch_dim = 0}, %dy: tensor<4x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<3xf32>) {
// CHECK-NEXT:     %dw = nn.linear_dw %x, %dy : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:     %db = nn.sum_rows %dy : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT:     func.return %dw, %db : tensor<4x3xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b1(%x: tensor<4x4xf32> {batch_dim = 0}, %dy: tensor<4x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<4x4xf32>, tensor<3xf32>) {
// CHECK-NEXT:     %dw = nn.linear_dw %x, %dy : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:     %dc = nn.linear_dw %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:     %dd = nn.sum_rows %dy : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT:     func.return %dw, %dc, %dd : tensor<4x3xf32>, tensor<4x4xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster {
// CHECK-NEXT:     %tied = dag.parameter "tied" {init = #nn.init<zeros>} : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %b = dag.parameter "b" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %c = dag.parameter "c" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %d = dag.parameter "d" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %x0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 0}, [{"dp"}, {}]>
// CHECK-NEXT:     %y0 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 0}, [{"dp"}, {}]>
// CHECK-NEXT:     %x1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 1}, [{"dp"}, {}]>
// CHECK-NEXT:     %y1 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 1}, [{"dp"}, {}]>
// CHECK-NEXT:     %d1:3 = dag.compute @b1(%x1, %y1) B {PP = 1} node "b1" -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 1}, partial = {"dp", use 1/2 mb[0:1]}>, !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}, partial = {"dp"}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 1}, partial = {"dp"}>)
// CHECK-NEXT:     %d0:2 = dag.compute @b0(%x0, %y0) B {PP = 0} node "b0" -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 0}, partial = {"dp", use 0/2 mb[0:1]}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 0}, partial = {"dp"}>)
// CHECK-NEXT:     %j = dag.join %d0#0, %d1#0 -> !dag.dist<tensor<4x3xf32>, @cluster on @own, partial = {"dp", "own"}>
// CHECK-NEXT:     %bucket0_master = dag.state "bucket0.master" {init = {tied = 0}} : !dag.dist<tensor<12xf32>, @cluster on @own, [{"dp", "own"}]>
// CHECK-NEXT:     %bucket0_flat = dag.pack %j at array<i64: 0> -> !dag.dist<tensor<12xf32>, @cluster on @own, partial = {"dp", "own"}>
// CHECK-NEXT:     %bucket0_shard = dag.reduce_scatter %bucket0_flat over ["dp", @own] -> !dag.dist<tensor<12xf32>, @cluster on @own, [{"dp", "own"}]>
// CHECK-NEXT:     %bucket0_g = dag.gradient "bucket0" %bucket0_shard -> !dag.dist<tensor<12xf32>, @cluster on @own, [{"dp", "own"}]>
// CHECK-NEXT:     %bucket1_master = dag.state "bucket1.master" {init = {b = 0}} : !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, [{"dp"}]>
// CHECK-NEXT:     %bucket1_flat = dag.pack %d0#1 at array<i64: 0> -> !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, partial = {"dp"}>
// CHECK-NEXT:     %bucket1_shard = dag.reduce_scatter %bucket1_flat over ["dp"] -> !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, [{"dp"}]>
// CHECK-NEXT:     %bucket1_g = dag.gradient "bucket1" %bucket1_shard -> !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, [{"dp"}]>
// CHECK-NEXT:     %bucket2_master = dag.state "bucket2.master" {init = {c = 3, d = 0}} : !dag.dist<tensor<20xf32>, @cluster on {pp = 1}, [{"dp"}]>
// CHECK-NEXT:     %bucket2_flat = dag.pack %d1#2, %d1#1 at array<i64: 0, 3> -> !dag.dist<tensor<20xf32>, @cluster on {pp = 1}, partial = {"dp"}>
// CHECK-NEXT:     %bucket2_shard = dag.reduce_scatter %bucket2_flat over ["dp"] -> !dag.dist<tensor<20xf32>, @cluster on {pp = 1}, [{"dp"}]>
// CHECK-NEXT:     %bucket2_g = dag.gradient "bucket2" %bucket2_shard -> !dag.dist<tensor<20xf32>, @cluster on {pp = 1}, [{"dp"}]>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
