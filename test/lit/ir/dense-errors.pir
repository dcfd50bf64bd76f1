// What is no constant tensor is said where it stands.
// RUN: piper-opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

// expected-error@+1 {{expected floating-point elements, found an integer (write a '.')}}
"t.a"() {a = dense<[1.0, 2]> : tensor<2xf32>} : () -> ()

// -----

// expected-error@+1 {{expected integer elements, found a floating-point number}}
"t.a"() {a = dense<1.0> : tensor<2xi32>} : () -> ()

// -----

// expected-error@+1 {{integer constant out of range for the element type}}
"t.a"() {a = dense<[1, 256]> : tensor<2xi8>} : () -> ()

// -----

// expected-error@+1 {{'true' and 'false' are elements of type i1}}
"t.a"() {a = dense<true> : tensor<2xi8>} : () -> ()

// -----

// expected-error@+1 {{expected unsigned elements, found a negative number}}
"t.a"() {a = dense<-1> : tensor<2xui8>} : () -> ()

// -----

// expected-error@+1 {{tensor literal is invalid; ranks are not consistent between elements}}
"t.a"() {a = dense<[[1, 2], [3]]> : tensor<2x2xi8>} : () -> ()

// -----

// expected-error@+1 {{the elements have shape [3], but the type tensor<2xi8> has [2]}}
"t.a"() {a = dense<[1, 2, 3]> : tensor<2xi8>} : () -> ()

// -----

// expected-error@+1 {{no elements are given, but tensor<2xi8> has 2}}
"t.a"() {a = dense<> : tensor<2xi8>} : () -> ()

// -----

// expected-error@+1 {{elements need a static shape, not tensor<?xi8>}}
"t.a"() {a = dense<1> : tensor<?xi8>} : () -> ()

// -----

// expected-error@+1 {{elements need a shaped type, not i8}}
"t.a"() {a = dense<1> : i8} : () -> ()

// -----

// expected-error@+1 {{3 byte(s) are given for the elements of tensor<2xf32>, which take 8}}
"t.a"() {a = dense<"0x010203"> : tensor<2xf32>} : () -> ()

// -----

// expected-error@+1 {{elements as a string are bytes in hexadecimal}}
"t.a"() {a = dense<"0x01020"> : tensor<2xf32>} : () -> ()

// -----

// expected-error@+1 {{elements of type complex<f32> are pairs (re, im)}}
"t.a"() {a = dense<1.0> : tensor<2xcomplex<f32>>} : () -> ()

// -----

// expected-error@+1 {{elements of type !d.str are strings}}
"t.a"() {a = dense<1> : tensor<2x!d.str>} : () -> ()

// -----

// expected-error@+1 {{a hexadecimal float literal has no leading minus}}
"t.a"() {a = dense<-0x7F800000> : tensor<2xf32>} : () -> ()

// -----

// expected-error@+1 {{sparse index 3 of dimension 0 is not inside the shape [3, 4]}}
"t.a"() {a = sparse<[[3, 0]], [1]> : tensor<3x4xi32>} : () -> ()

// -----

// expected-error@+1 {{sparse values of 2 indices have shape [2], not [1]}}
"t.a"() {a = sparse<[[0, 0], [1, 1]], [1]> : tensor<3x4xi32>} : () -> ()

// -----

// expected-error@+1 {{a resource needs a shaped type, not i8}}
"t.a"() {a = dense_resource<k> : i8} : () -> ()
