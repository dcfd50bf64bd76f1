// Annotations: tags that cannot be, regions that do not end as they should.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(import-tags)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// Values are integers or strings.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0.5} {
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

// CHECK: error: tag PP must be an integer or a string, but is 5.000000e-01
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-16]]:8

// -----

// Two tags are the compiler's.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0, MB = 1} {
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

// CHECK: error: the tag MB is given by the compiler
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-16]]:8
// CHECK: help: choose another name

// -----

// No yield.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK: error: a block of 'strategy.annotate' must end with a terminator
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-12]]:10
// CHECK: help: end it with strategy.yield

// -----

// A yield of something else.
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %x : tensor<8x4xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK: error: yields (tensor<8x4xf32>), but the annotation has results (tensor<8x16xf32>)
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-12]]:5
// CHECK: note: the annotation
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-18]]:8

// -----

// A value of another region.
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
    %a = nn.linear %g, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK: error: use of undeclared SSA value name '%g'
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-8]]:20
// CHECK: note: defined here, in a region that has ended
// CHECK-NEXT: --> {{.*}}annotations.pir:[[#@LINE-15]]:5
// CHECK: help: a value leaves its region only as a result of the operation around it
