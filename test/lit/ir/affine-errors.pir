// What is not affine is refused where it stands.
// RUN: piper-opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

// expected-error@+1 {{non-affine expression: at least one factor of a product has to be a constant or symbolic}}
"t.a"() {a = affine_map<(d0) -> (d0 * d0)>} : () -> ()

// -----

// expected-error@+1 {{non-affine expression: the right side of mod has to be a constant or symbolic}}
"t.a"() {a = affine_map<(d0) -> (4 mod d0)>} : () -> ()

// -----

// expected-error@+1 {{use of undeclared affine identifier 'd1'}}
"t.a"() {a = affine_map<(d0) -> (d1)>} : () -> ()

// -----

// expected-error@+1 {{redefinition of affine identifier 'd0'}}
"t.a"() {a = affine_map<(d0)[d0] -> (d0)>} : () -> ()

// -----

// expected-error@+1 {{no expression inside parentheses}}
"t.a"() {a = affine_map<(d0) -> (())>} : () -> ()

// -----

// expected-error@+1 {{constant too large for index}}
"t.a"() {a = affine_map<(d0) -> (9223372036854775808)>} : () -> ()

// -----

// expected-error@+1 {{expected '>=', '<=' or '==', found ')'}}
"t.a"() {a = affine_set<(d0) : (d0)>} : () -> ()

// -----

// expected-error@+1 {{expected an affine expression, found ')'}}
"t.a"() {a = affine_map<(d0) -> (d0 +)>} : () -> ()

// -----

// expected-error@+1 {{a memref of rank 2 has a layout whose affine map has rank 1}}
"t.a"() {a = memref<2x2xf32, affine_map<(d0) -> (d0)>>} : () -> ()

// -----

// expected-error@+1 {{expected a 64-bit signed integer or '?', found 'x'}}
"t.a"() {a = strided<[x]>} : () -> ()
