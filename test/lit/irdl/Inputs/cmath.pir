// Complex numbers: the dialect of MLIR's introduction to irdl, with forms.
irdl.dialect @cmath attributes {piper.summary = "Complex numbers."} {
  irdl.type @complex attributes {piper.summary = "A complex number with parts of type `elem`."} {
    %0 = irdl.is f32
    %1 = irdl.is f64
    %2 = irdl.any_of(%0, %1)
    irdl.parameters(elem: %2)
  }

  irdl.attribute @rounding {
    %0 = irdl.base "#builtin.string"
    irdl.parameters(mode: %0)
  }

  irdl.operation @mul attributes {
    piper.summary = "The product of two complex numbers.",
    piper.format = "$lhs `,` $rhs attr-dict `:` type($lhs)",
    piper.traits = ["Pure", "Commutative"],
    piper.cost = {flops = "6"}
  } {
    %0 = irdl.any
    %1 = irdl.parametric @cmath::@complex<%0>
    irdl.operands(lhs: %1, rhs: %1)
    irdl.results(res: %1)
  }

  // The type of the result is that of the parts.
  irdl.operation @norm attributes {
    piper.format = "$value (`rounding` $rounding^)? attr-dict `:` type($value)",
    piper.traits = ["Pure"],
    piper.optional = ["rounding"]
  } {
    %0 = irdl.any
    %1 = irdl.parametric @cmath::@complex<%0>
    %2 = irdl.base @cmath::@rounding
    irdl.operands(value: %1)
    irdl.results(res: %0)
    irdl.attributes {"rounding" = %2}
  }

  // Only the generic form.
  irdl.operation @sum {
    %0 = irdl.base @cmath::@complex
    irdl.operands(first: %0, rest: variadic %0, start: optional %0)
    irdl.results(res: %0)
  }

  irdl.operation @repeat attributes {
    piper.format = "$times attr-dict-with-keyword $body",
    piper.defaults = {times = 2},
    piper.traits = ["NoTerminator"]
  } {
    %0 = irdl.base "#builtin.integer"
    %1 = irdl.is index
    %2 = irdl.region(%1) with size 1
    irdl.attributes {"times" = %0}
    irdl.regions(body: %2)
  }
}
