// Habits of other languages.
// RUN: not piper-opt --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// A comment that is none here.
# a mesh
strategy.mesh @m <["pp" = 2]>

// CHECK: error: expected a name or a number after '#'
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-4]]:1
// CHECK: help: a comment begins with //

// -----

// Quotes.
strategy.mesh @m <['pp' = 2]>

// CHECK: error: unexpected character
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-3]]:20
// CHECK: help: strings are written in double quotes

// -----

// A mark at the end.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.zero over "dp" stage = 1;
}

// CHECK: error: unexpected character
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-4]]:36
// CHECK: help: an operation needs no mark at its end

// -----

// An arrow.
func.func @f(%x: tensor<4xf32>) → tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// CHECK: error: unexpected character
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-5]]:33
// CHECK: help: an arrow is written ->

// -----

// A name without its sigil.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for loss on @m {
}

// CHECK: error: expected a symbol name (@name), found 'loss'
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-4]]:26
// CHECK: help: did you mean @loss?

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = nn.gelu x : tensor<4xf32>
  func.return
}

// CHECK: error: expected an SSA operand (%name), found 'x'
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-5]]:16
// CHECK: help: the form is: nn.gelu %x : <type>

// -----

// A plan without its first brace: one message.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m
  strategy.zero over "dp" stage = 1
}

// CHECK: error: expected '{' and a region, found the end of the line
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-5]]:37

// -----

// A mesh inside of a function.
func.func @f() {
  strategy.mesh @m <["pp" = 2]>
  func.return
}

// CHECK: error: a 'strategy.mesh' stands in a module, beside the functions
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-5]]:3
// CHECK: help: move it out of the braces it is in

// -----

// Key and value as in JSON.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {"role": "data"}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: expected ',' or '}', found ':'
// CHECK-NEXT: --> {{.*}}slips.pir:[[#@LINE-9]]:45
