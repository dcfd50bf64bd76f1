// Operations that stand for parameters, as one would write them.
irdl.dialect @w {
  irdl.operation @weight attributes {
    piper.format = "$called attr-dict `:` type($w)",
    piper.expand = "$w = nn.parameter $called init = normal<0.0, 0.1> : type($w)"
  } {
    %t = irdl.base "!builtin.tensor" {piper.elements = "float"}
    %s = irdl.base "#builtin.string"
    irdl.results(w: %t)
    irdl.attributes {"called" = %s}
  }
  // Nothing says what this is.
  irdl.operation @bare attributes {piper.format = "$called attr-dict `:` type($w)"} {
    %t = irdl.base "!builtin.tensor" {piper.elements = "float"}
    %s = irdl.base "#builtin.string"
    irdl.results(w: %t)
    irdl.attributes {"called" = %s}
  }
}
