// Types that do not exist.
// RUN: piper-opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

// expected-error@+1 {{tensor<2xf32> cannot be an element of a tensor}}
"t.a"() {a = tensor<2xtensor<2xf32>>} : () -> ()

// -----

// expected-error@+1 {{none cannot be an element of a tensor}}
"t.a"() {a = tensor<2xnone>} : () -> ()

// -----

// expected-error@+1 {{!d.t cannot be an element of a memref}}
"t.a"() {a = memref<2x!d.t>} : () -> ()

// -----

// expected-error@+1 {{complex<f32> cannot be an element of a vector}}
"t.a"() {a = vector<2xcomplex<f32>>} : () -> ()

// -----

// expected-error@+1 {{the dimensions of a vector must be positive}}
"t.a"() {a = vector<2x0xf32>} : () -> ()

// -----

// expected-error@+1 {{a vector has no dynamic dimension}}
"t.a"() {a = vector<?xf32>} : () -> ()

// -----

// expected-error@+1 {{expected ']' after a scalable dimension, found 'xf32'}}
"t.a"() {a = vector<[4xf32>} : () -> ()

// -----

// expected-error@+1 {{expected the memory space to be last in a memref type}}
"t.a"() {a = memref<2xf32, 1, affine_map<(d0) -> (d0)>>} : () -> ()

// -----

// expected-error@+1 {{a memref type has at most one memory space}}
"t.a"() {a = memref<2xf32, 1, 2>} : () -> ()

// -----

// expected-error@+1 {{a memory space is an integer, a string, a dictionary or an attribute of a known dialect}}
"t.a"() {a = memref<2xf32, #d.space>} : () -> ()

// -----

// expected-error@+1 {{integer bitwidth is limited to 16777215 bits}}
"t.a"() {a = i16777216} : () -> ()

// -----

// expected-error@+1 {{a complex type has integer or floating-point elements}}
"t.a"() {a = complex<index>} : () -> ()

// -----

// expected-error@+1 {{dimension does not fit 64 bits}}
"t.a"() {a = tensor<99999999999999999999xf32>} : () -> ()
