// Regions and blocks: labels, arguments, ends, what sees what.
// RUN: not piper-opt --allow-unregistered-dialect --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

"t.op"() ({
  ^bb0
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: expected ':' after the block label, found the end of the line
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:7

// -----

"t.op"() ({
  ^bb0(%a):
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: expected ':' and the argument's type, found ')'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:10

// -----

"t.op"() ({
  ^bb0(%a i32):
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: expected ':' and the argument's type, found 'i32'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:11

// -----

"t.op"() ({
  ^bb0(i32):
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: expected an SSA operand (%name), found 'i32'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:8

// -----

"t.op"() ({
  ^bb0(%a : ):
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: expected a type, found ')'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:13

// -----

"t.op"() ({
  ^bb0(%a : i32:
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: expected ',' or ')', found ':'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:16

// -----

"t.op"() ({
  ^bb0(%a : i32, %a : i32):
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: redefinition of SSA value '%a'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:18
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-7]]:8
// CHECK: help: give one of the two another name

// -----

"t.op"() ({
  ^bb0:
    "t.br"()[^bb1] : () -> ()
  ^bb1:
    "t.in"() : () -> ()
  ^bb1:
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: redefinition of block '^bb1'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:3
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-9]]:3

// -----

"t.op"() ({
  ^bb0:
    "t.br"()[^bb0] : () -> ()
}) : () -> ()

// CHECK: error: entry block of region may not have predecessors
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-6]]:1

// -----

"t.op"() ({
  ^bb0:
    "t.in"() : () -> ()
  ^bb1:
  ^bb2:
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: empty block: expect at least a terminator
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-9]]:1
// CHECK: help: only the one block of a region can be empty

// -----

"t.op"() ({
  "t.in"() : () -> ()
) : () -> ()

// CHECK: error: expected an operation name, found ')'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:1

// -----

"t.op"() ({
  "t.in"() : () -> ()
} : () -> ()

// CHECK: error: expected ',' or ')', found ':'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:3

// -----

"t.op"() {
  "t.in"() : () -> ()
} : () -> ()

// CHECK: error: expected ',' or '}', found '('
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:9

// -----

"t.op"() ({
  "t.in"() : () -> ()
}}) : () -> ()

// CHECK: error: expected ',' or ')', found '}'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:2

// -----

// A name lives in its region.
"t.op"() ({
  %inner = "t.in"() : () -> i32
}) : () -> ()
"t.use"(%inner) : (i32) -> ()

// CHECK: error: use of undeclared SSA value name '%inner'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:9
// CHECK: note: defined here, in a region that has ended
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-7]]:3
// CHECK: help: a value leaves its region only as a result of the operation around it

// -----

// Nothing goes around.
"t.op"() ({
  ^bb0:
    "t.br"()[^bb2] : () -> ()
  ^bb1:
    %a = "t.in"() : () -> i32
    "t.br"()[^bb2] : () -> ()
  ^bb2:
    "t.use"(%a) : (i32) -> ()
}) : () -> ()

// CHECK: error: operand #0 does not dominate this use
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:5
// CHECK: note: operand defined here
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-9]]:10
// CHECK: help: define it before it is used

// -----

// A block of another region is not a successor.
"t.op"() ({
  ^bb0:
    "t.op"() ({
      "t.br"()[^bb1] : () -> ()
    }) : () -> ()
  ^bb1:
    "t.in"() : () -> ()
}) : () -> ()

// CHECK: error: reference to an undefined block '^bb1'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-7]]:16

// -----

// An isolated operation sees no names from outside.
%a = "t.op"() : () -> i32
func.func @f() -> i32 {
  func.return %a : i32
}

// CHECK: error: use of undeclared SSA value name '%a'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:15
// CHECK: help: define it before it is used

// -----

// Nor does a module in a module.
%a = "t.op"() : () -> i32
module {
  "t.use"(%a) : (i32) -> ()
}

// CHECK: error: use of undeclared SSA value name '%a'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:11
// CHECK: help: define it before it is used

// -----

module @a @b {
}

// CHECK: error: expected '{' and a region, found '@b'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:11

// -----

module {
  ^bb0(%a : i32):
}

// CHECK: error: the region of a module has no arguments
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-5]]:1

// -----

module attributes {a = } {
}

// CHECK: error: expected an attribute, found '}'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:24

// -----

module 5 {
}

// CHECK: error: expected '{' and a region, found '5'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-4]]:8

// -----

"builtin.module"() : () -> ()

// CHECK: error: 'builtin.module' expects 1 region(s), but has 0
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:1

// -----

"builtin.module"() ({
^bb0:
}, {
}) : () -> ()

// CHECK: error: 'builtin.module' expects 1 region(s), but has 2
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-6]]:1
// CHECK: error: 'builtin.module' expects a region with one block
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-8]]:1

// -----

"builtin.unrealized_conversion_cast"() ({}) : () -> ()

// CHECK: error: 'builtin.unrealized_conversion_cast' expects 0 region(s), but has 1
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:1

// -----

builtin.unrealized_conversion_cast %x : i32 to

// CHECK: error: use of undeclared SSA value name '%x'
// CHECK-NEXT: --> {{.*}}regions.pir:[[#@LINE-3]]:36
// CHECK: help: define it before it is used
