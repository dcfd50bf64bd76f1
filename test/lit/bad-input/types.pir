// Types of every kind that do not read.
// RUN: not piper-opt --allow-unregistered-dialect --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

"t.op"() : () -> word

// CHECK: error: expected a type, found 'word'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> 5

// CHECK: error: expected a type, found '5'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> i

// CHECK: error: expected a type, found 'i'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> i32x

// CHECK: error: expected a type, found 'i32x'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> i16777216

// CHECK: error: integer bitwidth is limited to 16777215 bits
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> i99999999999999

// CHECK: error: integer bitwidth is limited to 16777215 bits
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> f31

// CHECK: error: expected a type, found 'f31'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> int

// CHECK: error: expected a type, found 'int'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> tensor<>

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> tensor<4>

// CHECK: error: expected 'x' between dimensions, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> tensor<4x>

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<4 f32>

// CHECK: error: expected 'x' between dimensions, found 'f32'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<-4xf32>

// CHECK: error: expected a type, found '-'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> tensor<4,4xf32>

// CHECK: error: expected 'x' between dimensions, found ','
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> tensor<[4]xf32>

// CHECK: error: expected a type, found '['
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> tensor<4xword>

// CHECK: error: expected a type, found 'word'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<4xf32, >

// CHECK: error: expected an attribute, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> tensor<4xf32, 1, 2>

// CHECK: error: expected '>', found ','
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:33

// -----

"t.op"() : () -> tensor<*>

// CHECK: error: expected 'x' after '*', found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> tensor<*f32>

// CHECK: error: expected 'x' after '*', found 'f32'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> tensor<*x4xf32>

// CHECK: error: expected a type, found '4'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<4x*xf32>

// CHECK: error: expected a type, found '*'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<99999999999999999999xf32>

// CHECK: error: dimension does not fit 64 bits
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> tensor<4xtensor<4xf32>>

// CHECK: error: tensor<4xf32> cannot be an element of a tensor
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<4xnone>

// CHECK: error: none cannot be an element of a tensor
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<4xtuple<i32>>

// CHECK: error: tuple<i32> cannot be an element of a tensor
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> tensor<4x() -> ()>

// CHECK: error: () -> () cannot be an element of a tensor
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> memref<4>

// CHECK: error: expected 'x' between dimensions, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> memref<4xf32, affine_map<(d0, d1) -> (d0)>>

// CHECK: error: a memref of rank 1 has a layout whose affine map has rank 2
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:24

// -----

"t.op"() : () -> memref<4xf32, strided<[1, 1]>>

// CHECK: error: a memref of rank 1 has a layout whose list of strides has rank 2
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:24

// -----

"t.op"() : () -> memref<4xf32, 1, strided<[1]>>

// CHECK: error: expected the memory space to be last in a memref type
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:35

// -----

"t.op"() : () -> memref<4xf32, 1, 2>

// CHECK: error: a memref type has at most one memory space
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:35

// -----

"t.op"() : () -> memref<4xf32, 1.0>

// CHECK: error: a memory space is an integer, a string, a dictionary or an attribute of a known dialect
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> memref<4xf32, >

// CHECK: error: expected an attribute, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> memref<*xf32, 1, 2>

// CHECK: error: expected '>', found ','
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:33

// -----

"t.op"() : () -> vector<>

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> vector<0xf32>

// CHECK: error: the dimensions of a vector must be positive
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> vector<?xf32>

// CHECK: error: expected static shape: a vector has no dynamic dimension
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> vector<[4xf32>

// CHECK: error: expected ']' after a scalable dimension, found 'xf32'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> vector<[]xf32>

// CHECK: error: expected the size of a scalable dimension, found ']'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> vector<4xvector<4xf32>>

// CHECK: error: vector<4xf32> cannot be an element of a vector
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:27

// -----

"t.op"() : () -> vector<*xf32>

// CHECK: error: expected a type, found '*'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> complex<>

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> complex<index>

// CHECK: error: a complex type has integer or floating-point elements
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:26

// -----

"t.op"() : () -> complex<f32, f32>

// CHECK: error: expected '>', found ','
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:29

// -----

"t.op"() : () -> tuple<i32 i32>

// CHECK: error: expected ',' or '>', found 'i32'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:28

// -----

"t.op"() : () -> tuple<i32,>

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:28

// -----

"t.op"() {a = (i32) i32} : () -> ()

// CHECK: error: expected '->' in a function type, found 'i32'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = () -> } : () -> ()

// CHECK: error: expected a type, found '}'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:21

// -----

"t.op"() : () -> !

// CHECK: error: expected a name or a number after '!'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> !nobody

// CHECK: error: undefined type alias '!nobody'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> !func.nothing

// CHECK: error: dialect 'func' has no type 'func.nothing'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18

// -----

"t.op"() : () -> !t.x<(>

// CHECK: error: unbalanced '>' in a dialect symbol's body
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:24

// -----

"t.op"() : () -> !dag.dist<>

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:28

// -----

"t.op"() : () -> !dag.tokn

// CHECK: error: dialect 'dag' has no type 'dag.tokn'
// CHECK-NEXT: --> {{.*}}types.pir:[[#@LINE-3]]:18
