// Every gradient is counted once in the global norm: that of the group on one of its slices. All slices get the sum, and
// each home the factor.
// RUN: piper-opt --pass update %s | FileCheck %s
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
strategy.group @own on @cluster [{pp = 0}, {pp = 1}]

func.func private @loss()
strategy.plan @train for @loss on @cluster {
  strategy.update adamw <lr = 1.0e-3, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
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

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
// CHECK-NEXT:   strategy.group @own on @cluster [{pp = 0}, {pp = 1}]
// CHECK-NEXT:   func.func private @loss()
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0(%x: tensor<8x4xf32> {batch_dim = 0}, %dy: tensor<8x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<3xf32>) {
// CHECK-NEXT:     %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:     %db = nn.sum_rows %dy : (tensor<8x3xf32>) -> tensor<3xf32>
// CHECK-NEXT:     func.return %dw, %db : tensor<4x3xf32>, tensor<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b1(%x: tensor<8x4xf32> {batch_dim = 0}, %dy: tensor<8x3xf32> {batch_dim = 0}) -> (tensor<4x3xf32>, tensor<4x4xf32>) {
// CHECK-NEXT:     %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:     %dc = nn.linear_dw %x, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:     func.return %dw, %dc : tensor<4x3xf32>, tensor<4x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster {
// CHECK-NEXT:     %tied = dag.parameter "tied" {init = #nn.init<zeros>} : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %b = dag.parameter "b" {init = #nn.init<zeros>} : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %c = dag.parameter "c" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %x0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %y0 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %x1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %y1 = dag.input "y" {batch_dim = 0} : !dag.dist<tensor<8x3xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %d1:2 = dag.compute @b1(%x1, %y1) B {PP = 1} node "b1" -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 1}, partial = {use 1/2 mb[0:1]}>, !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>)
// CHECK-NEXT:     %d0:2 = dag.compute @b0(%x0, %y0) B {PP = 0} node "b0" -> (!dag.dist<tensor<4x3xf32>, @cluster on {pp = 0}, partial = {use 0/2 mb[0:1]}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>)
// CHECK-NEXT:     %j = dag.join %d0#0, %d1#0 -> !dag.dist<tensor<4x3xf32>, @cluster on @own, partial = {"own"}>
// CHECK-NEXT:     %s = dag.all_reduce %j over [@own] -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %gt = dag.gradient "tied" %s -> !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %gb = dag.gradient "b" %d0#1 -> !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %gc = dag.gradient "c" %d1#1 -> !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %0 = dag.sum_squares %gt -> !dag.dist<tensor<f64>, @cluster on @own>
// CHECK-NEXT:     %1 = dag.sum_squares %gb -> !dag.dist<tensor<f64>, @cluster on {pp = 0}>
// CHECK-NEXT:     %2 = dag.sum_squares %gc -> !dag.dist<tensor<f64>, @cluster on {pp = 1}>
// CHECK-NEXT:     %3 = dag.project %0 -> !dag.dist<tensor<f64>, @cluster on {pp = 0}>
// CHECK-NEXT:     %4 = dag.sum %1, %3 -> !dag.dist<tensor<f64>, @cluster on {pp = 0}>
// CHECK-NEXT:     %5 = dag.join %4, %2 -> !dag.dist<tensor<f64>, @cluster on @own, partial = {"own"}>
// CHECK-NEXT:     %6 = dag.all_reduce %5 over [@own] -> !dag.dist<tensor<f64>, @cluster on @own>
// CHECK-NEXT:     %7 = dag.clip_scale %6 max 1.000000e+00 -> !dag.dist<tensor<f32>, @cluster on @own>
// CHECK-NEXT:     %8 = dag.project %7 -> !dag.dist<tensor<f32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %9 = dag.project %7 -> !dag.dist<tensor<f32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %tied.m = dag.state "tied.m" {init = 0.000000e+00} : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %tied.v = dag.state "tied.v" {init = 0.000000e+00} : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %tied.new:3 = dag.update adamw(%tied, %gt, %tied.m, %tied.v, %7) lr = 1.000000e-03 {beta1 = 9.000000e-01, beta2 = 0.94999999999999996, eps = 1.000000e-08, weight_decay = 1.000000e-01} clipped -> (!dag.dist<tensor<4x3xf32>, @cluster on @own>, !dag.dist<tensor<4x3xf32>, @cluster on @own>, !dag.dist<tensor<4x3xf32>, @cluster on @own>)
// CHECK-NEXT:     dag.commit %tied, %tied.new#0 : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     dag.commit %tied.m, %tied.new#1 : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     dag.commit %tied.v, %tied.new#2 : !dag.dist<tensor<4x3xf32>, @cluster on @own>
// CHECK-NEXT:     %b.m = dag.state "b.m" {init = 0.000000e+00} : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %b.v = dag.state "b.v" {init = 0.000000e+00} : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %b.new:3 = dag.update adamw(%b, %gb, %b.m, %b.v, %8) lr = 1.000000e-03 {beta1 = 9.000000e-01, beta2 = 0.94999999999999996, eps = 1.000000e-08, weight_decay = 1.000000e-01} clipped -> (!dag.dist<tensor<3xf32>, @cluster on {pp = 0}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>, !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>)
// CHECK-NEXT:     dag.commit %b, %b.new#0 : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     dag.commit %b.m, %b.new#1 : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     dag.commit %b.v, %b.new#2 : !dag.dist<tensor<3xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %c.m = dag.state "c.m" {init = 0.000000e+00} : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %c.v = dag.state "c.v" {init = 0.000000e+00} : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %c.new:3 = dag.update adamw(%c, %gc, %c.m, %c.v, %9) lr = 1.000000e-03 {beta1 = 9.000000e-01, beta2 = 0.94999999999999996, eps = 1.000000e-08, weight_decay = 1.000000e-01} clipped -> (!dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>, !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>, !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>)
// CHECK-NEXT:     dag.commit %c, %c.new#0 : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     dag.commit %c.m, %c.new#1 : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     dag.commit %c.v, %c.new#2 : !dag.dist<tensor<4x4xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
