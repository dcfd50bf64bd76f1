// A sum over a group that is already there is widened by the axis: one collective, not two.
// RUN: piper-opt --pass-pipeline='builtin.module(replicate{over=dp})' %s | FileCheck %s
// CHECK: dag.all_reduce %{{.*}} over ["dp", @own] -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK: dag.all_reduce {{.*}} over ["dp"]
// CHECK: dag.gradient "b"
// CHECK: dag.all_reduce {{.*}} over ["dp"]
// CHECK: dag.gradient "c"
// CHECK-NOT: dag.all_reduce
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
