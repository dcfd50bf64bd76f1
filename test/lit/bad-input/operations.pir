// Operations: names, operands, results, successors, types.
// RUN: not piper-opt --allow-unregistered-dialect --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

"" () : () -> ()

// CHECK: error: an operation has a name
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

"t.op" : () -> ()

// CHECK: error: expected '(' and the operands, found ':'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:8

// -----

"t.op"( : () -> ()

// CHECK: error: expected an SSA operand (%name), found ':'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:9

// -----

"t.op"(%a %b) : (i32, i32) -> ()

// CHECK: error: expected ',' or ')', found '%b'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:11

// -----

"t.op"(i32) : (i32) -> ()

// CHECK: error: expected an SSA operand (%name), found 'i32'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:8

// -----

"t.op"(%a,) : (i32) -> ()

// CHECK: error: expected an SSA operand (%name), found ')'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:11

// -----

"t.op"() : i32

// CHECK: error: expected '(', found 'i32'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:12

// -----

"t.op"() : () i32

// CHECK: error: expected '->' in a function type, found 'i32'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:15

// -----

"t.op"() : (i32 -> ()

// CHECK: error: expected ',' or ')', found '->'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:17

// -----

"t.op"() : () -> () -> ()

// CHECK: error: expected an operation name, found '->'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:21

// -----

"t.op"() : () -> (i32,)

// CHECK: error: expected a type, found ')'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:23

// -----

"t.op"() : () -> () trailing

// CHECK: error: expected an operation, found 'trailing'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:21
// CHECK: help: the operation before it on this line takes nothing more

// -----

// Results and their names.
%a "t.op"() : () -> i32

// CHECK: error: expected '=' after the result names, found '"t.op"'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:4

// -----

%a, = "t.op"() : () -> i32

// CHECK: error: expected a result name (%name), found '='
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:5

// -----

%a, b = "t.op"() : () -> i32

// CHECK: error: expected a result name (%name), found 'b'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:5

// -----

%a = : () -> i32

// CHECK: error: expected an operation name, found ':'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:6

// -----

%a = = "t.op"() : () -> i32

// CHECK: error: expected an operation name, found '='
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:6

// -----

%a = %b

// CHECK: error: expected an operation name, found '%b'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:6

// -----

%a:0 = "t.op"() : () -> i32

// CHECK: error: expected named operation to have at least 1 result
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:4

// -----

%a:-1 = "t.op"() : () -> i32

// CHECK: error: expected named operation to have at least 1 result
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:4

// -----

%a:x = "t.op"() : () -> i32

// CHECK: error: expected an integer, found 'x'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:4

// -----

%a:99999999999999999999 = "t.op"() : () -> i32

// CHECK: error: integer does not fit 64 bits
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:4

// -----

%a:2 = "t.op"() : () -> i32

// CHECK: error: 't.op' has 1 result(s), but 2 name(s) are given
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

%a = "t.op"() : () -> ()

// CHECK: error: 't.op' has 0 result(s), but 1 name(s) are given
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

%a, %b = "t.op"() : () -> (i32, i32, i32)

// CHECK: error: 't.op' has 3 result(s), but 2 name(s) are given
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

%a:2, %b = "t.op"() : () -> (i32, i32)

// CHECK: error: 't.op' has 2 result(s), but 3 name(s) are given
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

%a, %a = "t.op"() : () -> (i32, i32)

// CHECK: error: redefinition of SSA value '%a'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:5
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-5]]:1
// CHECK: help: give one of the two another name

// -----

%a = "t.op"() : () -> i32
%a = "t.op"() : () -> i32

// CHECK: error: redefinition of SSA value '%a'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-6]]:1
// CHECK: help: give one of the two another name

// -----

// Packs.
%a:2 = "t.op"() : () -> (i32, i32)
"t.use"(%a#2) : (i32) -> ()

// CHECK: error: '%a' has 2 value(s), so '%a#2' does not exist
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:9
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-6]]:1

// -----

%a = "t.op"() : () -> i32
"t.use"(%a#1) : (i32) -> ()

// CHECK: error: '%a' has 1 value(s), so '%a#1' does not exist
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:9
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-6]]:1

// -----

%a:2 = "t.op"() : () -> (i32, i32)
"t.use"(%a#x) : (i32) -> ()

// CHECK: error: expected ',' or ')', found '#x'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:11

// -----

%a:2 = "t.op"() : () -> (i32, i32)
"t.use"(%a#99999999999) : (i32) -> ()

// CHECK: error: expected a result number after '#'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:11

// -----

"t.use"(%later#1) : (i32) -> ()
%later = "t.op"() : () -> i32

// CHECK: error: use of undeclared SSA value name '%later'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:9
// CHECK: help: did you mean '%later'?

// -----

// Operands and their types.
%a = "t.op"() : () -> i32
"t.use"(%a) : () -> ()

// CHECK: error: expected 1 operand type(s), found 0
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:15

// -----

"t.use"() : (i32) -> ()

// CHECK: error: expected 0 operand type(s), found 1
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:13

// -----

%a = "t.op"() : () -> i32
"t.use"(%a) : (i64) -> ()

// CHECK: error: use of '%a' expects type i64, but it has type i32
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:9
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-6]]:1

// -----

"t.use"(%later) : (i64) -> ()
%later = "t.op"() : () -> i32

// CHECK: error: '%later' is defined with type i32, but was used with type i64
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1
// CHECK: note: used here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-6]]:9

// -----

"t.use"(%later) : (i64) -> ()
"t.use"(%later) : (i32) -> ()
%later = "t.op"() : () -> i64

// CHECK: error: use of '%later' expects type i32, but an earlier use has type i64
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:9
// CHECK: note: earlier use here
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-7]]:9

// -----

"t.use"(%never) : (i64) -> ()

// CHECK: error: use of undeclared SSA value name '%never'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:9
// CHECK: help: define it before it is used

// -----

%value = "t.op"() : () -> i32
"t.use"(%valeu) : (i32) -> ()

// CHECK: error: use of undeclared SSA value name '%valeu'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:9
// CHECK: help: did you mean '%value'?

// -----

// Successors.
"t.op"()[^bb] : () -> ()

// CHECK: error: a successor outside any region
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:10

// -----

"t.op"() ({
  "t.br"()[bb0] : () -> ()
}) : () -> ()

// CHECK: error: expected a block name (^name), found 'bb0'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:12

// -----

"t.op"() ({
  "t.br"()[^bb0 ^bb1] : () -> ()
}) : () -> ()

// CHECK: error: expected ',' or ']', found '^bb1'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:17
// CHECK: error: reference to an undefined block '^bb0'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-6]]:12

// -----

"t.op"() ({
  "t.br"()[^bb0 : () -> ()
^bb0:
}) : () -> ()

// CHECK: error: expected ',' or ']', found ':'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-5]]:17

// -----

"t.op"() ({
  "t.br"()[^bb0(%a : i32)] : () -> ()
^bb0:
}) : () -> ()

// CHECK: error: expected ',' or ']', found '('
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-5]]:16

// -----

"t.op"() ({
  "t.br"()[^nowhere] : () -> ()
}) : () -> ()

// CHECK: error: reference to an undefined block '^nowhere'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:12

// -----

// Names that nobody has.
unknown

// CHECK: error: expected an operation, found 'unknown'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1
// CHECK: help: operations are written dialect.op

// -----

t.custom

// CHECK: error: custom form of unregistered operation 't.custom'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1
// CHECK: help: unregistered operations are read in the generic form only: "dialect.op"(...)

// -----

nowhere.op

// CHECK: error: custom form of unregistered operation 'nowhere.op'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1
// CHECK: help: unregistered operations are read in the generic form only: "dialect.op"(...)

// -----

fun.func @f() {
}

// CHECK: error: custom form of unregistered operation 'fun.func'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:1
// CHECK: help: did you mean 'func.func'?

// -----

func.fun @f() {
}

// CHECK: error: dialect 'func' has no operation 'func.fun'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-4]]:1
// CHECK: help: did you mean 'func.func'?

// -----

func.

// CHECK: error: dialect 'func' has no operation 'func.'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

func.func.func @f()

// CHECK: error: dialect 'func' has no operation 'func.func.func'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1

// -----

"func.fun"() : () -> ()

// CHECK: error: dialect 'func' has no operation 'func.fun'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:1
// CHECK: help: did you mean 'func.func'?

// -----

// More than one on a line is fine; what stands behind is read as the next.
"t.op"() : () -> () 5

// CHECK: error: expected an operation name, found '5'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:21

// -----

"t.op"() <{a = 1} : () -> ()

// CHECK: error: expected '>' after the properties, found ':'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:19

// -----

"t.op"() <> : () -> ()

// CHECK: error: expected an attribute, found '>'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:11

// -----

"t.op"() <{a = 1}> <{b = 1}> : () -> ()

// CHECK: error: expected ':' and the operation's type, found '<'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:20

// -----

"t.op"() {a = 1} {b = 1} : () -> ()

// CHECK: error: expected ':' and the operation's type, found '{'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:18

// -----

"t.op"() {a = 1} ({}) : () -> ()

// CHECK: error: expected ':' and the operation's type, found '('
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:18

// -----

"t.op"() ({} {}) : () -> ()

// CHECK: error: expected ',' or ')', found '{'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:14

// -----

"t.op"() ({}, ) : () -> ()

// CHECK: error: expected '{' and a region, found ')'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:15

// -----

"t.op"() () : () -> ()

// CHECK: error: expected '{' and a region, found ')'
// CHECK-NEXT: --> {{.*}}operations.pir:[[#@LINE-3]]:11
