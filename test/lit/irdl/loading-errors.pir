// What is found when definitions are loaded: everything at once, each at its place, formats at their column.
// RUN: not piper-opt --load-dialect %s --show-dialects 2>&1 | FileCheck %s

irdl.dialect @nn {
}
// CHECK: error: there is a dialect 'nn' already
// CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-3]]:1
// CHECK: help: a dialect is defined once and as a whole: choose another name

irdl.dialect @bad {
  irdl.operation @format attributes {piper.format = "$lhs `,` $rsh attr-dict `:` type($lhs)"} {
    %0 = irdl.any
    irdl.operands(lhs: %0, rhs: %0)
    irdl.results(res: %0)
  }
  // CHECK: error: format of 'bad.format': '$rsh' is not declared; did you mean '$rhs'?
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-6]]:64
  irdl.operation @second attributes {
    piper.format = "$x attr-dict"
  } {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x: %0)
    irdl.results(y: %1)
  }
  // CHECK: error: format of 'bad.second': nothing gives the type of result 'y'
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-8]]:33
  irdl.operation @words attributes {
    piper.traits = ["Pur"], piper.optional = ["axs"], piper.formt = "x", piper.defaults = {axis = "no"}
  } {
    %0 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %0}
  }
  // CHECK: error: 'irdl.operation' has no attribute 'piper.formt'
  // CHECK: help: did you mean 'piper.format'?
  // CHECK: error: there is no trait 'Pur'
  // CHECK: help: did you mean 'Pure'?
  // CHECK: error: 'piper.optional' names no attribute: 'axs'
  // CHECK: help: did you mean 'axis'?
  // CHECK: error: the default of 'axis' must be an integer, but is "no"
  irdl.operation @costs attributes {
    piper.cost = {flops = "2 * element($x)"}, piper.shard = "rows",
    piper.expand = "$y = nn.silu $z : type($x)", piper.infer = {y = "$w"}
  } {
    %0 = irdl.base "!builtin.tensor" {piper.elements = "float"}
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
  // CHECK: error: 'piper.infer' of 'y' must be an operand ("$x") or a type, but is "$w"
  // CHECK: error: cost of 'bad.costs': expected a number, elements($x), bytes($x), dim($x, 0) or '(', found 'element'; did you mean 'elements'?
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-9]]:32
  // CHECK: error: 'piper.shard' must be "elementwise", but is "rows"
  // CHECK: error: expansion of 'bad.costs': there is no operand, result or attribute 'z'
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-11]]:35
  irdl.operation @nothing attributes {
    piper.expand = "%z = nn.silu $x : type($x)"
  } {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
  // CHECK: error: expansion of 'bad.nothing': no line defines the result 'y', as '$y = ...' would
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-7]]:21
  irdl.operation @twice attributes {
    piper.expand = "%y = nn.silu $x : type($x)\0A$y = nn.silu $x : type($x)"
  } {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
  // CHECK: error: expansion of 'bad.twice': 'y' is defined twice
  irdl.operation @over attributes {
    piper.expand = "$x = nn.silu $x : type($x)\0A$y = nn.silu $x : type($x)"
  } {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
  // CHECK: error: expansion of 'bad.over': 'x' is an operand, and is defined again
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-7]]:22
  irdl.operation @over_one_of_a_group attributes {
    piper.expand = "%x_10 = nn.silu $y : type($y)\0A%x, %x_ = mine.both %x_10 : type($y)\0A$z = nn.silu %x : type($y)"
  } {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(y: %0, x: variadic %0)
    irdl.results(z: %0)
  }
  // CHECK: error: expansion of 'bad.over_one_of_a_group': 'x_10' is an operand, and is defined again
  // CHECK-NEXT: --> {{.*}}loading-errors.pir:[[#@LINE-7]]:22
  irdl.operation @only_words attributes {
    piper.expand = "%z = nn.silu $x {note = \"\n%y = x\"} : type($x) // $y = %z\0A// %y = %z"
  } {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
  // CHECK: error: expansion of 'bad.only_words': no line defines the result 'y', as '$y = ...' would
  irdl.operation @one_of_two attributes {
    piper.expand = "%pair:2 = mine.split $x : type($x)\0A%a, %y = mine.both %pair#0, %pair#1 : type($x)"
  } {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    irdl.results(y: %0, z: %0)
  }
  // CHECK: error: expansion of 'bad.one_of_two': no line defines the result 'z', as '$z = ...' would
  irdl.operation @cpp {
    %0 = irdl.c_pred "$_self.isa<Foo>()"
    irdl.operands(x: %0)
  }
  // CHECK: error: a predicate in C++ cannot be checked here
}

func.func private @f()
// CHECK: error: 'func.func' stands where only irdl.dialect may
