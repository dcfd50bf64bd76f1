// Definitions that do not verify.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

irdl.dialect @d {
  irdl.operation @op {
    // expected-error@+1 {{there is no dialect @cmaths}}
    %0 = irdl.base @cmaths::@complex
  }
}

// -----

irdl.dialect @d {
  irdl.type @complex
  irdl.operation @op {
    // expected-error@+1 {{dialect @d has no type or attribute @compex}}
    %0 = irdl.base @d::@compex
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    // expected-error@+1 {{@d::@op is an operation, not a type or an attribute}}
    %0 = irdl.base @d::@op
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    // expected-error@+1 {{there is no type or attribute "!builtin.tensr"}}
    %0 = irdl.base "!builtin.tensr"
    // expected-error@+1 {{"tensor" begins with '!' if it is a type, with '#' if it is an attribute}}
    %1 = irdl.base "tensor"
  }
}

// -----

irdl.dialect @d {
  irdl.type @pair {
    %0 = irdl.any
    irdl.parameters(first: %0, second: %0)
  }
  irdl.operation @op {
    %0 = irdl.any
    // expected-error@+1 {{'d.pair' has 2 parameter(s), not 1}}
    %1 = irdl.parametric @d::@pair<%0>
  }
}

// -----

// A constraint that needs itself.
irdl.dialect @d {
  irdl.operation @op {
    // expected-error@+1 {{use of undeclared SSA value name '%1'}}
    %0 = irdl.any_of(%1)
    %1 = irdl.all_of(%0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    // expected-error@+1 {{use of undeclared SSA value name '%t'}}
    irdl.operands(x: %t)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    %0 = irdl.any
    // expected-error@+2 {{'x' is declared twice}}
    // expected-note@+1 {{the first is here}}
    irdl.operands(x: %0, x: %0)
    // expected-error@+1 {{a second 'irdl.operands' in one definition}}
    irdl.operands(y: %0)
    // expected-error@+1 {{'y' is declared twice in one operation}}
    irdl.results(y: %0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    %0 = irdl.any
    // expected-error@+1 {{expected single, optional or variadic, found 'many'}}
    irdl.operands(x: many %0)
  }
}

// -----

irdl.dialect @d {
  // expected-error@+1 {{'irdl.any' stands in an irdl.dialect, which holds irdl.type, irdl.attribute and irdl.operation}}
  %0 = irdl.any
}
