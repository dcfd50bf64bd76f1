// Functions, calls, returns, constants, branches: custom forms that miss a part, and what their verifiers say.
// RUN: not piper-opt --verify-each --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

func.func {
}

// CHECK: error: expected a symbol name (@name), found '{'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:11

// -----

func.func f() {
}

// CHECK: error: expected a symbol name (@name), found 'f'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:11

// -----

func.func @f {
}

// CHECK: error: expected '(' and the arguments, found '{'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:14

// -----

func.func @f(i32) {
  func.return
}

// CHECK: error: the body of '@f' takes (), but the function's type says (i32)
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:1

// -----

func.func @f(%a) {
  func.return
}

// CHECK: error: expected ':' and the argument's type, found ')'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:16

// -----

func.func @f(%a: i32, i32)

// CHECK: error: expected an SSA operand (%name), found 'i32'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:23

// -----

func.func @f(%a: i32, %a: i32) {
  func.return
}

// CHECK: error: redefinition of SSA value '%a'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:23
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-7]]:14
// CHECK: help: give one of the two another name

// -----

func.func @f() -> {
  func.return
}

// CHECK: error: expected a type, found '{'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:19

// -----

func.func @f() i32 {
  func.return
}

// CHECK: error: expected an operation, found 'i32'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:16
// CHECK: help: the operation before it on this line takes nothing more

// -----

func.func @f() attributes 5 {
  func.return
}

// CHECK: error: expected '{', found '5'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:27

// -----

func.func @f() attributes {sym_name = "g"} {
  func.return
}

// CHECK: error: attribute 'sym_name' belongs to the function's head; do not repeat it
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:27

// -----

func.func public private @f()

// CHECK: error: expected a symbol name (@name), found 'private'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:18

// -----

func.func public @f()

// CHECK: error: '@f' has no body but is not private
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1
// CHECK: help: declare it as 'func.func private @f'

// -----

func.func @f() {
}

// CHECK: error: a block of 'func.func' must end with a terminator
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:1
// CHECK: help: end it with func.return

// -----

func.func @f() {
  %a = arith.constant 1 : i32
}

// CHECK: error: a block of 'func.func' must end with a terminator
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:8
// CHECK: help: end it with func.return

// -----

func.func @f() -> i32 {
  func.return
}

// CHECK: error: returns (), but '@f' is declared to return (i32)
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:3
// CHECK: note: '@f' is declared here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-7]]:1

// -----

func.func @f() -> i32 {
  %a = arith.constant 1.0 : f32
  func.return %a : f32
}

// CHECK: error: returns (f32), but '@f' is declared to return (i32)
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:3
// CHECK: note: '@f' is declared here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-8]]:1

// -----

func.func @f() {
  func.return
  func.return
}

// CHECK: error: 'func.return' must be the last operation of its block
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f() {
  return 5
}

// CHECK: error: expected an operation name, found '5'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:10

// -----

func.func @f(%a: i32) {
  func.return %a
}

// CHECK: error: expected ':', found the end of the line
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:17
// CHECK: help: the form is: func.return [%operands... : <type>]

// -----

func.func @f(%a: i32) {
  func.return %a, : i32
}

// CHECK: error: expected an SSA operand (%name), found ':'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:19
// CHECK: help: the form is: func.return [%operands... : <type>]

// -----

func.return

// CHECK: error: 'func.return' must stand directly in a 'func.func'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1

// -----

func.func @f() {
  func.return
}
func.func @f() {
  func.return
}

// CHECK: error: redefinition of symbol '@f'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:1
// CHECK: note: previously defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-10]]:1

// -----

func.func @f() {
  func.call @g() : () -> ()
  func.return
}

// CHECK: error: there is no function '@g'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3
// CHECK: help: did you mean '@f'?

// -----

func.func @f() {
  func.call @ff() : () -> ()
  func.return
}

// CHECK: error: there is no function '@ff'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3
// CHECK: help: did you mean '@f'?

// -----

func.func @f(%a: i32) {
  func.call @f() : () -> ()
  func.return
}

// CHECK: error: the call passes (), but '@f' takes (i32)
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3
// CHECK: note: '@f' is defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-8]]:1

// -----

func.func @f(%a: i32) {
  func.call @f(%a) : (i64) -> ()
  func.return
}

// CHECK: error: use of '%a' expects type i64, but it has type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:16
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-8]]:14

// -----

func.func @f(%a: i32) {
  %b = func.call @f(%a) : (i32) -> i32
  func.return
}

// CHECK: error: the call expects (i32), but '@f' returns ()
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:8
// CHECK: note: '@f' is defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-8]]:1

// -----

func.func @f(%a: i32) {
  func.call f(%a) : (i32) -> ()
  func.return
}

// CHECK: error: expected a symbol name (@name), found 'f'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:13

// -----

func.func @f(%a: i32) {
  func.call @f %a : (i32) -> ()
  func.return
}

// CHECK: error: expected '(' and the operands, found '%a'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:16

// -----

func.func @f(%a: i32) {
  func.call @f(%a)
  func.return
}

// CHECK: error: expected ':' and the callee's type, found the end of the line
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:19

// -----

func.func @f(%a: i32) {
  func.call @f(%a) : i32
  func.return
}

// CHECK: error: expected '(', found 'i32'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:22

// -----

strategy.mesh @m <["pp" = 2]>
func.func @f() {
  func.call @m() : () -> ()
  func.return
}

// CHECK: error: '@m' is a 'strategy.mesh', not a function
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-9]]:1

// -----

%a = arith.constant word

// CHECK: error: expected an attribute, found 'word'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:21
// CHECK: help: a string is written in quotes: "word"

// -----

%a = arith.constant 1 : f32

// CHECK: error: unexpected decimal integer literal for a floating-point attribute (write a '.')
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:21

// -----

%a = arith.constant 1.0 : i32

// CHECK: error: floating-point value is not valid for type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:21

// -----

%a = arith.constant "text"

// CHECK: error: a constant has a value with a type: a number, or dense<...>
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:21

// -----

%a = arith.constant dense<1> : tensor<2xf32>

// CHECK: error: expected floating-point elements, found an integer (write a '.')
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:27

// -----

func.func @f(%a: f32) {
  %b = arith.addi %a, %a : f32
  func.return
}

// CHECK: error: operand 'lhs' of 'arith.addi' must be a signless integer or index, or a vector or tensor of them, but has type f32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:8
// CHECK: error: operand 'rhs' of 'arith.addi' must be a signless integer or index, or a vector or tensor of them, but has type f32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-7]]:8
// CHECK: error: result 'result' of 'arith.addi' must be a signless integer or index, or a vector or tensor of them, but has type f32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-9]]:8

// -----

func.func @f(%a: i32) {
  %b = arith.addi %a : i32
  func.return
}

// CHECK: error: expected 2 operand(s), found 1
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:19

// -----

func.func @f(%a: i32) {
  %b = arith.cmpi less, %a, %a : i32
  func.return
}

// CHECK: error: 'less' is no predicate of this comparison
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:19
// CHECK: help: the predicates are eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge

// -----

// Branches.
func.func @f(%a: i32) {
  cf.br
^bb1:
  func.return
}

// CHECK: error: expected an operation name, found ':'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:5
// CHECK: error: reference to an undefined block '^bb1'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-7]]:1

// -----

func.func @f(%a: i32) {
  cf.br ^bb1(%a : i64)
^bb1(%b: i32):
  func.return
}

// CHECK: error: use of '%a' expects type i64, but it has type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:14
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-9]]:14

// -----

func.func @f(%a: i32) {
  cf.br ^bb1
^bb1(%b: i32):
  func.return
}

// CHECK: error: 'cf.br' passes 0 value(s) to successor #0, whose block takes 1
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:3

// -----

func.func @f(%a: i32) {
  cf.br ^bb1(%a)
^bb1(%b: i32):
  func.return
}

// CHECK: error: expected ',' or ':' and the types, found ')'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:16

// -----

func.func @f(%a: i32) {
  cf.cond_br %a, ^bb1, ^bb1
^bb1:
  func.return
}

// CHECK: error: use of '%a' expects type i1, but it has type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:14
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-9]]:14

// -----

func.func @f(%a: i1) {
  cf.cond_br %a, ^bb1
^bb1:
  func.return
}

// CHECK: error: expected ',' and the block to go to if it does not, found the end of the line
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:22

// -----

func.func @f() {
  cf.br ^bb1
^bb1:
}

// CHECK: error: a block of 'func.func' must end with a terminator
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:1
// CHECK: help: end it with func.return

// -----

// Generic forms that miss a declared part.
"func.func"() ({
}) : () -> ()

// CHECK: error: 'func.func' requires attribute 'sym_name': a string
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:1
// CHECK: error: 'func.func' requires attribute 'function_type': a type
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:1
// CHECK: error: 'func.func' requires a name (@name)
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-8]]:1

// -----

"func.func"() ({
}) {sym_name = "f"} : () -> ()

// CHECK: error: 'func.func' requires attribute 'function_type': a type
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:1

// -----

"func.func"() ({
}) {sym_name = "f", function_type = i32} : () -> ()

// CHECK: error: '@f' must have a function type as its 'function_type'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:1

// -----

"func.func"() ({
}) {sym_name = 5, function_type = () -> ()} : () -> ()

// CHECK: error: attribute 'sym_name' of 'func.func' must be a string, but is 5
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:1
// CHECK: error: 'func.func' requires a name (@name)
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:1

// -----

"func.func"() {sym_name = "f", function_type = () -> ()} : () -> ()

// CHECK: error: 'func.func' expects 1 region(s), but has 0
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1

// -----

"func.func"() ({
^bb0(%a: i32):
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = () -> ()} : () -> ()

// CHECK: error: the body of '@f' takes (i32), but the function's type says ()
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:1

// -----

"func.func"() ({
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = () -> (), sym_visibility = "secret"} : () -> ()

// CHECK: error: attribute 'sym_visibility' of 'func.func' must be one of "public", "private", "nested", but is "secret"
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:1

// -----

func.func @f(%a: i32) {
  "arith.addi"(%a) : (i32) -> i32
  func.return
}

// CHECK: error: 'arith.addi' expects 2 operand(s), but has 1
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "arith.addi"(%a, %a) : (i32, i32) -> (i32, i32)
  func.return
}

// CHECK: error: 'arith.addi' expects 1 result(s), but has 2
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "arith.addi"(%a, %a) : (i32, i32) -> i64
  func.return
}

// CHECK: error: operands and result of 'arith.addi' must have one type, but have i32 and i64
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "arith.addi"(%a, %a) : (i32, i32) -> ()
  func.return
}

// CHECK: error: 'arith.addi' expects 1 result(s), but has 0
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "arith.constant"() : () -> i32
  func.return
}

// CHECK: error: 'arith.constant' requires attribute 'value'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "arith.constant"() {value = 1 : i64} : () -> i32
  func.return
}

// CHECK: error: 'arith.constant' has value 1 but type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "arith.addi"(%a, %a) ({}) : (i32, i32) -> i32
  func.return
}

// CHECK: error: 'arith.addi' expects 0 region(s), but has 1
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%a: i32) {
  "cf.br"(%a) : (i32) -> ()
}

// CHECK: error: 'cf.br' expects 1 successor(s), but has 0
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:3

// -----

func.func @f(%a: i32) {
  "cf.br"(%a)[^bb1, ^bb1] : (i32) -> ()
^bb1:
  func.return
}

// CHECK: error: 'cf.br' expects 1 successor(s), but has 2
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-6]]:3

// -----

"func.call"() : () -> ()

// CHECK: error: 'func.call' requires attribute 'callee': a symbol reference
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1

// -----

"func.call"() {callee = "f"} : () -> ()

// CHECK: error: attribute 'callee' of 'func.call' must be a symbol reference, but is "f"
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1

// -----

// Unknown things of known dialects.
func.func @f() {
  arith.adi
}

// CHECK: error: dialect 'arith' has no operation 'arith.adi'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean 'arith.addi'?

// -----

arth.addi

// CHECK: error: unknown dialect 'arth' of operation 'arth.addi'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1
// CHECK: help: did you mean 'arith.addi'?

// -----

"func.fnc"() : () -> ()

// CHECK: error: dialect 'func' has no operation 'func.fnc'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1
// CHECK: help: did you mean 'func.func'?

// -----

"t.op"() : () -> ()

// CHECK: error: unknown dialect 't' of operation 't.op'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1
// CHECK: help: pass --allow-unregistered-dialect to accept operations of unknown dialects

// -----

%a = "t.op"() {a = #t.x} : () -> !t.x

// CHECK: error: unknown dialect 't' of operation 't.op'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:6
// CHECK: help: pass --allow-unregistered-dialect to accept operations of unknown dialects

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %x
  func.return
}

// CHECK: error: expected ':', found the end of the line
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:18
// CHECK: help: the form is: nn.gelu %x : <type>

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %x : tensor<4xf32> : tensor<4xf32>
  func.return
}

// CHECK: error: expected an operation name, found ':'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:35

// -----

func.func @f(%x: i32) {
  %y = nn.gelu %x : i32
  func.return
}

// CHECK: error: operand 'x' of 'nn.gelu' must be a tensor of f32, f64 or bf16 with static shape, but has type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:8
// CHECK: error: result 'y' of 'nn.gelu' must be a tensor of f32, f64 or bf16 with static shape, but has type i32
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-7]]:8

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu %x, %x : tensor<4xf32>
  func.return
}

// CHECK: error: expected ':', found ','
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:18
// CHECK: help: the form is: nn.gelu %x : <type>

// -----

func.func @f(%x: tensor<4xf32>) {
  %y, %z = nn.gelu %x : tensor<4xf32>
  func.return
}

// CHECK: error: 'nn.gelu' has 1 result(s), but 2 name(s) are given
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:3

// -----

func.func @f(%x: tensor<4xf32>) {
  nn.gelu %x {tags = {PP = 0} : tensor<4xf32>
  func.return
}

// CHECK: error: expected ',' or '}', found ':'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:31
// CHECK: help: the form is: nn.gelu %x : <type>

// -----

strategy.mesh <["pp" = 2]>

// CHECK: error: expected a symbol name (@name), found '<'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:15

// -----

strategy.mesh @m ["pp" = 2]

// CHECK: error: expected '<' and the axes, as in <["pp" = 4, "dp" = 2]>, found '['
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:18

// -----

strategy.mesh @m <["pp" 2]>

// CHECK: error: expected '=' and the size of the axis, found '2'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:25

// -----

strategy.mesh @m <["pp" = 0]>

// CHECK: error: axis "pp" must have a size of at least 1, but has 0
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1

// -----

strategy.mesh @m <["pp" = 2, "pp" = 2]>

// CHECK: error: the mesh has two axes "pp"
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-3]]:1
// CHECK: help: each axis has a name of its own

// -----

strategy.plan @p for @loss {
}

// CHECK: error: expected 'on', found '{'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:28
// CHECK: help: the form is: strategy.plan @<name> for @<function> on @<mesh> { ... }

// -----

strategy.plan @p on @m for @loss {
}

// CHECK: error: expected 'for', found 'on'
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-4]]:18
// CHECK: help: the form is: strategy.plan @<name> for @<function> on @<mesh> { ... }

// -----

func.func private @f(i32)
func.func private @g(i32)
func.func @calls(%a: i32) {
  func.call @f(%a) {callee = @g} : (i32) -> ()
  func.return
}

// CHECK: error: attribute 'callee' is given twice
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:20

// -----

func.func @constant() -> i32 {
  %a = arith.constant {value = 7 : i32} 42 : i32
  func.return %a : i32
}

// CHECK: error: attribute 'value' is given twice
// CHECK-NEXT: --> {{.*}}functions.pir:[[#@LINE-5]]:8
