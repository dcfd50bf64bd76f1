// What cannot be trained so.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,update)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// A loss that is no sum over the batch.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %mean = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    %loss = nn.mul %mean, %mean : tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: error: the batch cannot be divided here: operands 'a' and 'b' of 'nn.mul' are both partial sums over the batch: a product of sums is not the sum of products
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-11]]:13
// CHECK: help: each part of the batch gives a part of the sum; only nn.add, nn.scale and what else is linear keep it one

// -----

strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %mean = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    %loss = nn.gelu %mean : tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: error: the batch cannot be divided here: operand 'x' of 'nn.gelu' is a partial sum over the batch, and 'nn.gelu' is not linear in it
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-11]]:13
// CHECK: help: each part of the batch gives a part of the sum; only nn.add, nn.scale and what else is linear keep it one

// -----

// An input that has the batch and does not say so.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data"}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: error: the batch cannot be divided here: operand 'targets' of 'nn.cross_entropy' is whole, but 'logits' is split along the dimension 0 that they share
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-11]]:13
// CHECK: note: which dimension is the batch is said here
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-23]]:1
// CHECK: help: every input that has the batch says so, as in {role = "data", batch_dim = 0}

// -----

// A parameter with the name of a moment.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w0.m" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: error: a parameter has the name of the optimizer's state of "w0"
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-13]]:11
// CHECK: note: "w0" is declared here
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-21]]:11
// CHECK: help: give one of the two another name

// -----

// One name, two shapes.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: error: parameter 'w0' has type tensor<16x10xf32> here, but tensor<4x16xf32> where it was declared first
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-13]]:11
// CHECK: note: 'w0' is declared here
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-21]]:11
// CHECK: help: parameters of one name are one tensor; rename one of them

// -----

// A stage in which nothing is trained: that may be meant, so it is a warning.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.stop_gradient %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: warning: parameter 'w0' does not influence the loss and will not be trained
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-19]]:11
// CHECK: help: remove it, or use it through nn.stop_gradient if that is meant

// -----

// Two plans.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}
strategy.plan @other for @loss on @cluster {
  strategy.optimizer sgd <lr = 0.1>
}

// CHECK: error: the graph of '@loss' is built already
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-5]]:1
// CHECK: note: by this plan
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-11]]:1
// CHECK: help: one plan trains a function here; take the other out of the file

// -----

// A loss that is no number.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<8x16xf32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %h : tensor<8x16xf32>
}
strategy.plan @train for @loss on @cluster {
}

// CHECK: error: '@loss' returns tensor<8x16xf32>; only a scalar can be differentiated
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-6]]:3

// -----

// A call that reaches itself.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = func.call @b(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
func.func private @b(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = func.call @b(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}
strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.optimizer adamw <lr = 0.1>
}

// CHECK: error: @b calls itself; recursion cannot be inlined
// CHECK-NEXT: --> {{.*}}training.pir:[[#@LINE-9]]:8
