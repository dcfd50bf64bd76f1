// Attributes of every kind that do not read.
// RUN: not piper-opt --allow-unregistered-dialect --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// Dictionaries.
"t.op"() {a = } : () -> ()

// CHECK: error: expected an attribute, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a 1} : () -> ()

// CHECK: error: expected ',' or '}', found '1'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:13

// -----

"t.op"() {a = 1 b = 2} : () -> ()

// CHECK: error: expected ',' or '}', found 'b'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:17

// -----

"t.op"() {a = 1, a = 2} : () -> ()

// CHECK: error: duplicate key 'a' in dictionary attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:18

// -----

"t.op"() {1 = a} : () -> ()

// CHECK: error: expected an attribute name, found '1'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:11

// -----

"t.op"() {"" = 1} : () -> ()

// CHECK: error: expected a valid attribute name
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:11

// -----

"t.op"() {a = 1,} : () -> ()

// CHECK: error: expected an attribute name, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:17

// -----

"t.op"() {a = {b = {c = }}} : () -> ()

// CHECK: error: expected an attribute, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:25

// -----

"t.op"() {a = 1 : () -> ()

// CHECK: error: integer literal is not valid for type () -> ()
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

// Arrays.
"t.op"() {a = [1, 2} : () -> ()

// CHECK: error: expected ',' or ']', found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:20

// -----

"t.op"() {a = [1 2]} : () -> ()

// CHECK: error: expected ',' or ']', found '2'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:18

// -----

"t.op"() {a = [1,]} : () -> ()

// CHECK: error: expected an attribute, found ']'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:18

// -----

// A word is none.
"t.op"() {a = word} : () -> ()

// CHECK: error: expected an attribute, found 'word'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15
// CHECK: help: a string is written in quotes: "word"

// -----

"t.op"() {a = True} : () -> ()

// CHECK: error: expected an attribute, found 'True'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15
// CHECK: help: a string is written in quotes: "True"

// -----

// Numbers and their types.
"t.op"() {a = -} : () -> ()

// CHECK: error: expected a number, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:16

// -----

"t.op"() {a = --1} : () -> ()

// CHECK: error: expected a number, found '-'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:16

// -----

"t.op"() {a = +1} : () -> ()

// CHECK: error: expected an attribute, found '+'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 1 : } : () -> ()

// CHECK: error: expected a type, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:19

// -----

"t.op"() {a = 1 : none} : () -> ()

// CHECK: error: integer literal is not valid for type none
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 1 : tensor<2xi8>} : () -> ()

// CHECK: error: integer literal is not valid for type tensor<2xi8>
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 1 : f32} : () -> ()

// CHECK: error: unexpected decimal integer literal for a floating-point attribute (write a '.')
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 1.0 : i32} : () -> ()

// CHECK: error: floating-point value is not valid for type i32
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 256 : i8} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = -129 : i8} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = -1 : ui8} : () -> ()

// CHECK: error: negative integer literal is not valid for an unsigned type
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 128 : si8} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 2 : i1} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 1 : i0} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 99999999999999999999} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 9223372036854775808 : index} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 0xFFFFFFFFFFFFFFFFF : i64} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 340282366920938463463374607431768211456 : i128} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 : i256} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 0x1FFFF : f16} : () -> ()

// CHECK: error: hexadecimal float constant out of range for type
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = -0x7FC0 : f16} : () -> ()

// CHECK: error: a hexadecimal float literal is a bit pattern and has no leading minus
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = true : i1} : () -> ()

// CHECK: error: expected ',' or '}', found ':'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:20

// -----

// Strings with types.
"t.op"() {a = "b" : } : () -> ()

// CHECK: error: expected a type, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

// Symbols.
"t.op"() {a = @b::} : () -> ()

// CHECK: error: expected a symbol name (@name), found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:19

// -----

"t.op"() {a = @b::c} : () -> ()

// CHECK: error: expected a symbol name (@name), found 'c'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:19

// -----

"t.op"() {a = @b:@c} : () -> ()

// CHECK: error: expected ',' or '}', found ':'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:17

// -----

// Elements in brackets.
"t.op"() {a = dense} : () -> ()

// CHECK: error: expected '<', found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:20

// -----

"t.op"() {a = dense<1>} : () -> ()

// CHECK: error: expected ':' and the type of the elements, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:23

// -----

"t.op"() {a = dense<1> : } : () -> ()

// CHECK: error: expected a type, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<1> : i32} : () -> ()

// CHECK: error: elements need a shaped type, not i32
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<1 : tensor<2xi32>} : () -> ()

// CHECK: error: expected '>' after the elements, found ':'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:23

// -----

"t.op"() {a = dense<[1, 2> : tensor<2xi32>} : () -> ()

// CHECK: error: expected ',' or ']', found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<[1, 2, 3]> : tensor<2xi32>} : () -> ()

// CHECK: error: the elements have shape [3], but the type tensor<2xi32> has [2]
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = dense<[[1, 2], [3]]> : tensor<2x2xi32>} : () -> ()

// CHECK: error: tensor literal is invalid; ranks are not consistent between elements
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:30

// -----

"t.op"() {a = dense<[[1, 2], 3]> : tensor<2x2xi32>} : () -> ()

// CHECK: error: tensor literal is invalid; ranks are not consistent between elements
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:30

// -----

"t.op"() {a = dense<> : tensor<2xi32>} : () -> ()

// CHECK: error: no elements are given, but tensor<2xi32> has 2
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = dense<[]> : tensor<2xi32>} : () -> ()

// CHECK: error: the elements have shape [0], but the type tensor<2xi32> has [2]
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = dense<word> : tensor<2xi32>} : () -> ()

// CHECK: error: expected an element (a number, true, false or a string), found 'word'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<-true> : tensor<2xi1>} : () -> ()

// CHECK: error: expected an element (a number, true, false or a string), found 'true'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:22

// -----

"t.op"() {a = dense<true> : tensor<2xi32>} : () -> ()

// CHECK: error: 'true' and 'false' are elements of type i1
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<1.0> : tensor<2xi32>} : () -> ()

// CHECK: error: expected integer elements, found a floating-point number
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<1> : tensor<2xf32>} : () -> ()

// CHECK: error: expected floating-point elements, found an integer (write a '.')
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<300> : tensor<2xi8>} : () -> ()

// CHECK: error: integer constant out of range for the element type
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<-1> : tensor<2xui8>} : () -> ()

// CHECK: error: expected unsigned elements, found a negative number
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:22

// -----

"t.op"() {a = dense<1> : tensor<?xi32>} : () -> ()

// CHECK: error: elements need a static shape, not tensor<?xi32>
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<1> : tensor<*xi32>} : () -> ()

// CHECK: error: elements need a shaped type, not tensor<*xi32>
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<1> : tensor<99999999999x99999999999xi32>} : () -> ()

// CHECK: error: tensor<99999999999x99999999999xi32> has more elements than memory can hold
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<(1, 2)> : tensor<2xi32>} : () -> ()

// CHECK: error: elements of type i32 are single numbers
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = dense<1> : tensor<2xcomplex<i32>>} : () -> ()

// CHECK: error: elements of type complex<i32> are pairs (re, im)
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = dense<(1)> : tensor<2xcomplex<i32>>} : () -> ()

// CHECK: error: expected ',' between the parts of a complex number, found ')'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:23

// -----

"t.op"() {a = dense<(1, 2> : tensor<2xcomplex<i32>>} : () -> ()

// CHECK: error: expected ')' after a complex number, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = dense<"0x1"> : tensor<2xi32>} : () -> ()

// CHECK: error: elements as a string are bytes in hexadecimal: "0x" and pairs of digits
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<"0xG0"> : tensor<2xi32>} : () -> ()

// CHECK: error: elements as a string are bytes in hexadecimal: "0x" and pairs of digits
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<"0x010203"> : tensor<2xi32>} : () -> ()

// CHECK: error: 3 byte(s) are given for the elements of tensor<2xi32>, which take 8
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = dense<"text"> : tensor<2xi32>} : () -> ()

// CHECK: error: elements as a string are bytes in hexadecimal: "0x" and pairs of digits
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<["text", 1]> : tensor<2xi32>} : () -> ()

// CHECK: error: expected a number, found a string
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:22

// -----

"t.op"() {a = dense<0x1FFFF> : tensor<2xf16>} : () -> ()

// CHECK: error: hexadecimal float constant out of range for type
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = dense<-0x7C00> : tensor<2xf16>} : () -> ()

// CHECK: error: a hexadecimal float literal has no leading minus
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:22

// -----

// Arrays of numbers.
"t.op"() {a = array} : () -> ()

// CHECK: error: expected '<', found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:20

// -----

"t.op"() {a = array<>} : () -> ()

// CHECK: error: expected a type, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = array<i32 1>} : () -> ()

// CHECK: error: expected ',' or '>', found '1'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:25

// -----

"t.op"() {a = array<i32: >} : () -> ()

// CHECK: error: expected a number, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = array<i32: 1, >} : () -> ()

// CHECK: error: expected a number, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:29

// -----

"t.op"() {a = array<i32: 1 2>} : () -> ()

// CHECK: error: expected ',' or '>', found '2'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:28

// -----

"t.op"() {a = array<i32: 1.0>} : () -> ()

// CHECK: error: floating-point value is not valid for type i32
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = array<f32: 1>} : () -> ()

// CHECK: error: unexpected decimal integer literal for a floating-point attribute (write a '.')
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = array<i8: 256>} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:25

// -----

"t.op"() {a = array<i32: true>} : () -> ()

// CHECK: error: 'true' and 'false' are elements of type i1
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = array<i1: 2>} : () -> ()

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:25

// -----

"t.op"() {a = array<i7: 1>} : () -> ()

// CHECK: error: elements of a dense array have 1 bit or a multiple of 8 bits
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = array<index: 1>} : () -> ()

// CHECK: error: a dense array has integer or floating-point elements
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

// Sparse elements.
"t.op"() {a = sparse<0> : tensor<2xi32>} : () -> ()

// CHECK: error: expected ',' between indices and values, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:23

// -----

"t.op"() {a = sparse<[[0]], [1, 2]> : tensor<2xi32>} : () -> ()

// CHECK: error: sparse values of 1 indices have shape [1], not [2]
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = sparse<[[0, 0]], [1]> : tensor<2xi32>} : () -> ()

// CHECK: error: sparse indices of a tensor of rank 1 have shape [n, 1], not [1, 2]
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = sparse<[[2]], [1]> : tensor<2xi32>} : () -> ()

// CHECK: error: sparse index 2 of dimension 0 is not inside the shape [2]
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = sparse<[[-1]], [1]> : tensor<2xi32>} : () -> ()

// CHECK: error: sparse index -1 of dimension 0 is not inside the shape [2]
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = sparse<[[0]], [1]> : i32} : () -> ()

// CHECK: error: elements need a shaped type, not i32
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:36

// -----

// Affine maps and sets.
"t.op"() {a = affine_map} : () -> ()

// CHECK: error: expected '<', found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:25

// -----

"t.op"() {a = affine_map<>} : () -> ()

// CHECK: error: expected '(' and the dimensions, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = affine_map<(d0) (d0)>} : () -> ()

// CHECK: error: expected '->' in an affine map, found '('
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:31

// -----

"t.op"() {a = affine_map<(d0) -> d0>} : () -> ()

// CHECK: error: expected '(' and the results of an affine map, found 'd0'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:34

// -----

"t.op"() {a = affine_map<(d0) -> (d1)>} : () -> ()

// CHECK: error: use of undeclared affine identifier 'd1'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:35

// -----

"t.op"() {a = affine_map<(d0, d0) -> (d0)>} : () -> ()

// CHECK: error: redefinition of affine identifier 'd0'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:31

// -----

"t.op"() {a = affine_map<(d0)[d0] -> (d0)>} : () -> ()

// CHECK: error: redefinition of affine identifier 'd0'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:31

// -----

"t.op"() {a = affine_map<(1) -> (1)>} : () -> ()

// CHECK: error: expected the name of a dimension or symbol, found '1'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:27

// -----

"t.op"() {a = affine_map<(d0) -> (d0 +)>} : () -> ()

// CHECK: error: expected an affine expression, found ')'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:39

// -----

"t.op"() {a = affine_map<(d0) -> (d0 d0)>} : () -> ()

// CHECK: error: expected ',' or ')', found 'd0'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:38

// -----

"t.op"() {a = affine_map<(d0) -> (d0 * d0)>} : () -> ()

// CHECK: error: non-affine expression: at least one factor of a product has to be a constant or symbolic
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:38

// -----

"t.op"() {a = affine_map<(d0) -> (1 floordiv d0)>} : () -> ()

// CHECK: error: non-affine expression: the right side of floordiv has to be a constant or symbolic
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:37

// -----

"t.op"() {a = affine_map<(d0) -> (1 ceildiv d0)>} : () -> ()

// CHECK: error: non-affine expression: the right side of ceildiv has to be a constant or symbolic
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:37

// -----

"t.op"() {a = affine_map<(d0) -> (1 mod d0)>} : () -> ()

// CHECK: error: non-affine expression: the right side of mod has to be a constant or symbolic
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:37

// -----

"t.op"() {a = affine_map<(d0) -> ((d0)>} : () -> ()

// CHECK: error: expected ',' or ')', found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:39

// -----

"t.op"() {a = affine_map<(d0) -> (())>} : () -> ()

// CHECK: error: no expression inside parentheses
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:36

// -----

"t.op"() {a = affine_map<(d0) -> (9223372036854775808)>} : () -> ()

// CHECK: error: constant too large for index
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:35

// -----

"t.op"() {a = affine_map<(d0) -> (1.5)>} : () -> ()

// CHECK: error: expected an affine expression, found '1.5'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:35

// -----

"t.op"() {a = affine_set<(d0) -> (d0)>} : () -> ()

// CHECK: error: expected ':' in an affine set, found '->'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:31

// -----

"t.op"() {a = affine_set<(d0) : (d0)>} : () -> ()

// CHECK: error: expected '>=', '<=' or '==', found ')'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:36

// -----

"t.op"() {a = affine_set<(d0) : (d0 > 0)>} : () -> ()

// CHECK: error: expected '>=', '<=' or '==', found '0'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:39

// -----

"t.op"() {a = affine_set<(d0) : (d0 = 0)>} : () -> ()

// CHECK: error: expected '>=', '<=' or '==', found '0'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:39

// -----

// Strides.
"t.op"() {a = strided<>} : () -> ()

// CHECK: error: expected '[' and the strides, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:23

// -----

"t.op"() {a = strided<[x]>} : () -> ()

// CHECK: error: expected a 64-bit signed integer or '?', found 'x'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:24

// -----

"t.op"() {a = strided<[1], 2>} : () -> ()

// CHECK: error: expected 'offset', found '2'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:28

// -----

"t.op"() {a = strided<[1], offset 2>} : () -> ()

// CHECK: error: expected ':' after 'offset', found '2'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:35

// -----

"t.op"() {a = strided<[1] offset: 2>} : () -> ()

// CHECK: error: expected '>' after a strided layout, found 'offset'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:27

// -----

"t.op"() {a = strided<[99999999999999999999]>} : () -> ()

// CHECK: error: integer does not fit 64 bits
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:24

// -----

// Distinct attributes.
"t.op"() {a = distinct<1>} : () -> ()

// CHECK: error: expected '[' and a number, found '<'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:23

// -----

"t.op"() {a = distinct[]<1>} : () -> ()

// CHECK: error: expected the number of a distinct attribute, found ']'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:24

// -----

"t.op"() {a = distinct[0]} : () -> ()

// CHECK: error: expected '<', found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = distinct[99999999999999999999]<1>} : () -> ()

// CHECK: error: expected an unsigned 64-bit integer
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:24

// -----

"t.op"() {a = distinct[0]<1>, b = distinct[0]<2>} : () -> ()

// CHECK: error: distinct[0] is already another attribute
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:44

// -----

// Resources.
"t.op"() {a = dense_resource} : () -> ()

// CHECK: error: expected '<', found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:29

// -----

"t.op"() {a = dense_resource<>} : () -> ()

// CHECK: error: expected the key of a resource, found '>'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:30

// -----

"t.op"() {a = dense_resource<1> : tensor<2xi8>} : () -> ()

// CHECK: error: expected the key of a resource, found '1'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:30

// -----

"t.op"() {a = dense_resource<key>} : () -> ()

// CHECK: error: expected ':' and the type of the elements, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:34

// -----

"t.op"() {a = dense_resource<key> : i8} : () -> ()

// CHECK: error: a resource needs a shaped type, not i8
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:37

// -----

// Of dialects.
"t.op"() {a = #nobody} : () -> ()

// CHECK: error: undefined attribute alias '#nobody'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = #func.nothing} : () -> ()

// CHECK: error: dialect 'func' has no attribute 'func.nothing'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = #t.x<(>} : () -> ()

// CHECK: error: unbalanced '>' in a dialect symbol's body
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = #t<[}>} : () -> ()

// CHECK: error: unbalanced '}' in a dialect symbol's body
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:19

// -----

"t.op"() {a = #t.x<"open>} : () -> ()

// CHECK: error: string is not terminated before the end of the line
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:20

// -----

"t.op"() {a = #t.x<1} : () -> ()

// CHECK: error: unbalanced '}' in a dialect symbol's body
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:21

// -----

"t.op"() {a = #t.x<1> : } : () -> ()

// CHECK: error: expected a type, found '}'
// CHECK-NEXT: --> {{.*}}attributes.pir:[[#@LINE-3]]:25
