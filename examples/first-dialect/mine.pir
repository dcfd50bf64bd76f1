// A dialect as data; docs/first-dialect.md explains it line by line.
//
//   piper-opt --load-dialect examples/first-dialect/mine.pir examples/first-dialect/model.pir

irdl.dialect @mine attributes {piper.summary = "Operations of our own."} {
  irdl.operation @swiglu attributes {
    piper.summary = "A gated activation: `silu(gate) * up`.",
    piper.format = "$gate `,` $up attr-dict `:` type($y)",
    piper.traits = ["Pure"],
    piper.cost = {flops = "15 * elements($y)"},
    piper.shard = "elementwise",
    piper.expand = ["%s = nn.silu $gate : type($gate)",
                    "$y = nn.mul %s, $up : type($y)"]
  } {
    %tensor = irdl.base "!builtin.tensor" {piper.elements = "float"}
    irdl.operands(gate: %tensor, up: %tensor)
    irdl.results(y: %tensor)
  }
}
