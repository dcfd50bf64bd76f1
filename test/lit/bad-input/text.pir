// Text that does not read.
// RUN: not piper-opt --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// Defined twice.
func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %x : tensor<4xf32>
  %y = nn.gelu %x : tensor<4xf32>
  func.return
}

// CHECK: error: redefinition of SSA value '%y'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:3
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-8]]:3
// CHECK: help: give one of the two another name

// -----

// Used before it is defined.
func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %z : tensor<4xf32>
  %z = nn.gelu %x : tensor<4xf32>
  func.return
}

// CHECK: error: use of undeclared SSA value name '%z'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-6]]:16
// CHECK: help: did you mean '%x'?

// -----

// Never defined.
func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %value : tensor<4xf32>
  func.return
}

// CHECK: error: use of undeclared SSA value name '%value'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:16
// CHECK: help: define it before it is used

// -----

// Of another type.
func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %x : tensor<5xf32>
  func.return
}

// CHECK: error: 'nn.gelu': dimension 0 of 'y' is 5, but 'x' makes it 4
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:8
// CHECK: help: the shapes are x[...] -> y[...]

// -----

// An unknown operation.
func.func @f() {
  nn.relu
  func.return
}

// CHECK: error: dialect 'nn' has no operation 'nn.relu'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:3
// CHECK: help: did you mean 'nn.gelu'?

// -----

// A string without an end.
func.func @f() {
  %w = nn.parameter "w init = ones : tensor<4xf32>
  func.return
}

// CHECK: error: string is not terminated before the end of the line
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:21
// CHECK: help: close it with '"'

// -----

// A region without an end.
func.func @f() {
  func.return

// CHECK: error: expected '}' at the end of a region, found the end of the file
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-3]]:14
// CHECK: note: the region begins here
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-6]]:16
// CHECK: help: close it with '}'

// -----

// An end without a region.
func.func @f() {
  func.return
}}

// CHECK: error: expected an operation, found '}'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-3]]:2
// CHECK: help: no '{' is open here

// -----

// An end without a type.
func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %x
  func.return
}

// CHECK: error: expected ':', found the end of the line
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:18
// CHECK: help: the form is: nn.gelu %x : <type>

// -----

// Types that are none.
func.func @f(%x: tensor<4xfloat>) {
  func.return
}

// CHECK: error: expected a type, found 'float'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:27

// -----

func.func @f(%x: tensor<8,4,f32>) {
  func.return
}

// CHECK: error: expected 'x' between dimensions, found ','
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:26

// -----

// A second function of the name.
func.func @f() {
  func.return
}
func.func @f() {
  func.return
}

// CHECK: error: redefinition of symbol '@f'
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-5]]:1
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}text.pir:[[#@LINE-10]]:1
