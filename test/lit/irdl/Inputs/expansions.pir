// Expansions that go right and wrong.
irdl.dialect @d {
  irdl.operation @twice attributes {
    piper.format = "$x attr-dict `:` type($x)", piper.traits = ["Pure"], piper.defaults = {by = 2.0},
    piper.expand = "$y = nn.scale $x {factor = $by} : type($x)"
  } {
    %t = irdl.base "!builtin.tensor"
    %f = irdl.base "#builtin.float"
    irdl.operands(x: %t)
    irdl.results(y: %t)
    irdl.attributes {"by" = %f}
  }
  irdl.operation @four_times attributes {
    piper.format = "$x attr-dict `:` type($x)",
    piper.expand = ["%z = d.twice $x : type($x)", "$y = d.twice %z : type($x)"]
  } {
    %t = irdl.base "!builtin.tensor"
    irdl.operands(x: %t)
    irdl.results(y: %t)
  }
  irdl.operation @sum attributes {
    piper.expand = ["%0 = nn.add $x : type($first)", "$y = nn.add $first, %0 : type($y)"]
  } {
    %t = irdl.base "!builtin.tensor"
    irdl.operands(first: %t, x: variadic %t)
    irdl.results(y: %t)
  }
  irdl.operation @total attributes {
    piper.expand = ["// $y = is what they sum to, %xs = a part of it",
                    "%xs = nn.add $first, $xs {note = \"%y =\"} : type($first)",
                    "$y = nn.scale %xs {factor = 2.0} : type($y) // $y = $y"]
  } {
    %t = irdl.base "!builtin.tensor"
    irdl.operands(first: %t, xs: variadic %t)
    irdl.results(y: %t)
  }
  irdl.operation @loop attributes {piper.expand = "$y = d.loop $x : type($x)", piper.format = "$x attr-dict `:` type($x)"} {
    %t = irdl.base "!builtin.tensor"
    irdl.operands(x: %t)
    irdl.results(y: %t)
  }
  irdl.operation @slip attributes {piper.expand = "$y = nn.gleu $x : type($x)", piper.format = "$x attr-dict `:` type($x)"} {
    %t = irdl.base "!builtin.tensor"
    irdl.operands(x: %t)
    irdl.results(y: %t)
  }
}
