// After zero the shard of the flat master is updated, gathered, unpacked and committed to its parameters; its moments are shards too.
// RUN: piper-opt --pass-pipeline='builtin.module(zero{over=dp},update{rule=sgd lr=0.1 momentum=0.9})' %s | FileCheck %s
// CHECK: %[[M:.*]] = dag.state "bucket0.master" {init = {tied = 0}} : [[T:!dag.dist<tensor<12xf32>, @cluster on @own, \[{"dp", "own"}\]>]]
// CHECK: %[[G:.*]] = dag.gradient "bucket0"
// CHECK: %[[V:.*]] = dag.state "bucket0.m" {init = 0.000000e+00} : [[T]]
// CHECK: %[[N:.*]]:2 = dag.update sgd(%[[M]], %[[G]], %[[V]]) lr = 1.000000e-01 {momentum = 9.000000e-01, weight_decay = 0.000000e+00}
// CHECK-NEXT: dag.commit %[[M]], %[[N]]#0
// CHECK-NEXT: dag.commit %[[V]], %[[N]]#1
// CHECK-NEXT: %[[A:.*]] = dag.all_gather %[[N]]#0 over ["dp", @own]
// CHECK-NEXT: %[[U:.*]] = dag.unpack %[[A]] at array<i64: 0>
// CHECK-NEXT: dag.commit %tied, %[[U]]
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
strategy.group @own on @cluster [{pp = 0}, {pp = 1}]

func.func private @loss()
func.func private @b0(%x: tensor<8x4xf32> {batch_dim = 0}, %dy: tensor<8x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %db = nn.sum_rows %dy : (tensor<8x3xf32>) -> tensor<3xf32>
  func.return %dw, %db : tensor<4x3xf32>, tensor<3xf32>
}
func.func private @b1(%x: tensor<8x4xf32> {batch_dim = 0}, %dy: tensor<8x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<4x4xf32>) {
  %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %dc = nn.linear_dw %x, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  func.return %dw, %dc : tensor<4x3xf32>, tensor<4x4xf32>
}

dag.graph @train_step of @loss on @cluster {
  %tied = dag.parameter "tied" {init = #nn.init<zeros>} : !dag.dist<tensor<4x3xf32>, @cluster on @own>
  %b = dag.parameter "b" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
  %c = dag.parameter "c" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
  %x0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 0}>
  %y0 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 0}>
  %x1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 1}>
  %y1 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 1}>
  %d1:2 = dag.compute @b1(%x1, %y1) B {PP = 1} node "b1" : (!dag.dist<tensor<8x4xf32>, @cluster on {pp = 1}>, !dag.dist<tensor<8x3xf32>, @cluster on {pp = 1}>) -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 1}, partial = {use 1/2 mb[0:1]}>, !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>)
  %d0:2 = dag.compute @b0(%x0, %y0) B {PP = 0} node "b0" : (!dag.dist<tensor<8x4xf32>, @cluster on {pp = 0}>, !dag.dist<tensor<8x3xf32>, @cluster on {pp = 0}>) -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 0}, partial = {use 0/2 mb[0:1]}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>)
  %j = dag.join %d0#0, %d1#0 : (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 0}, partial = {use 0/2 mb[0:1]}>, !dag.dist<tensor<4x3xf32>, @cluster on {pp = 1}, partial = {use 1/2 mb[0:1]}>) -> !dag.dist<tensor<4x3xf32>, @cluster on @own, partial = {"own"}>
  %s = dag.all_reduce %j over [@own] : !dag.dist<tensor<4x3xf32>, @cluster on @own, partial = {"own"}> -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
  %gt = dag.gradient "tied" %s : !dag.dist<tensor<4x3xf32>, @cluster on @own> -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
  %gb = dag.gradient "b" %d0#1 : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}> -> !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
  %gc = dag.gradient "c" %d1#1 : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}> -> !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
}
