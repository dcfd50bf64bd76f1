// Each fault is reported once, where it is, with what was expected; reading goes on after it.
// RUN: piper-opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

// expected-note@+1 {{previously defined here}}
%a = "t.a"() : () -> i32
// expected-error@+1 {{redefinition of SSA value '%a'}}
%a = "t.b"() : () -> i32

// -----

// expected-error@+1 {{use of undeclared SSA value name '%nothing'}}
"t.use"(%nothing) : (i32) -> ()

// -----

// A multi-block region is not a graph: the definition must come first.
"t.f"() ({
^bb0:
  "t.br"()[^bb1] : () -> ()
^bb1:
  // expected-error@+1 {{operand #0 does not dominate this use}}
  "t.use"(%x) : (i32) -> ()
  "t.br"()[^bb2] : () -> ()
^bb2:
  // expected-note@+1 {{operand defined here}}
  %x = "t.x"() : () -> i32
  "t.end"() : () -> ()
}) : () -> ()

// -----

// expected-error@+1 {{string is not terminated before the end of the line}}
"t.s"() {a = "open} : () -> ()

// -----

// expected-note@+1 {{the region begins here}}
"t.region"() ({
  "t.in"() : () -> ()
// expected-error@-1 {{expected '}' at the end of a region, found the end of the file}}
// -----

// expected-error@+1 {{custom form of unregistered operation 't.custom'}}
t.custom

// -----

// expected-note@+1 {{defined here}}
%a = "t.a"() : () -> i32
// expected-error@+1 {{use of '%a' expects type f32, but it has type i32}}
"t.use"(%a) : (f32) -> ()

// -----

// expected-error@+1 {{'t.two' has 2 result(s), but 1 name(s) are given}}
%a = "t.two"() : () -> (i32, i32)
// The name above is known to be wrong, so its use is no second fault.
"t.use"(%a) : (i32) -> ()

// -----

// expected-error@+1 {{expected 1 operand type(s), found 2}}
"t.use"(%a) : (i32, i32) -> ()

// -----

// expected-error@+1 {{duplicate key 'a' in dictionary attribute}}
"t.d"() {a = 1, a = 2} : () -> ()
// expected-error@+1 {{expected an attribute name, found '}'}}
"t.d"() {a = 1,} : () -> ()
// expected-error@+1 {{integer constant out of range for attribute}}
"t.d"() {a = 300 : i8} : () -> ()
// expected-error@+1 {{undefined attribute alias '#nope'}}
"t.d"() {a = #nope} : () -> ()
// expected-error@+1 {{location alias '#never' is never defined}}
"t.d"() : () -> () loc(#never)
// expected-error@+1 {{reference to an undefined block '^nowhere'}}
"t.d"() ({ "t.br"()[^nowhere] : () -> () }) : () -> ()
// expected-error@+1 {{expected ':' and the operation's type}}
"t.d"() ({ "t.in"() : () -> () })
// expected-error@+1 {{expected ':' and the operation's type}}
"t.d"() {a = 1}
"t.fine"() : () -> ()

// -----

// An error inside a region, or inside a dictionary in it, neither hides those after it nor makes new ones.
"t.outer"() ({
  // expected-error@+1 {{duplicate key 'a'}}
  %x = "t.d"() {a = 1, a = {b}, c} : () -> i32
  "t.use"(%x) : (i32) -> ()
  "t.inner"() ({
    // expected-error@+1 {{expected a type}}
    "t.e"() : () -> (oops)
  }) : () -> ()
  // expected-error@+1 {{expected '(' and the operands, found ':'}}
  "t.f" : () -> ()
}) : () -> ()
// expected-error@+1 {{use of undeclared SSA value name '%gone'}}
"t.last"(%gone) : (i32) -> ()

// -----

"builtin.module"() ({
  // expected-note@+1 {{previously defined here}}
  "t.s"() {sym_name = "x"} : () -> ()
  // expected-error@+1 {{redefinition of symbol '@x'}}
  "t.s"() {sym_name = "x"} : () -> ()
}) : () -> ()

// -----

// expected-error@+1 {{entry block of region may not have predecessors}}
"t.f"() ({
^bb0:
  "t.br"()[^bb0] : () -> ()
}) : () -> ()
