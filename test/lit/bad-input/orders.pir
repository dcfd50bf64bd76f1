// Orders that cannot be run.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(expand-directives)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// They wait for each other.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0B0 0F1 0B1"
  strategy.order stages = "PP" on {pp = 1} "1F1 1B1 1F0 1B0"
}

// CHECK: error: the orders deadlock: {pp = 0} waits in slot 1: 0B0 needs 1B0, which is slot 3 of {pp = 1}
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: note: {pp = 1} waits in slot 0: 1F1 needs 0F1, which is slot 2 of {pp = 0}
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-6]]:3
// CHECK: help: in the order of {pp = 0}, put 0F1 before 0B0

// -----

// One waits for itself.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0B0 0F0 0F1 0B1"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// CHECK: error: the orders deadlock: {pp = 0} waits in slot 0: 0B0 needs 0F0, which comes only later, in slot 1
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: help: in the order of {pp = 0}, put 0F0 before 0B0

// -----

// Two that cannot overlap.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1"
  strategy.order stages = "PP" on {pp = 1} "(1F0 | 1B0) 1F1 1B1"
}

// CHECK: error: the orders deadlock: {pp = 1} waits in slot 0: 1B0 needs 1F0, which stands in the same slot, so the two cannot overlap
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-4]]:3
// CHECK: help: give 1F0 and 1B0 slots of their own

// -----

// An action is missing.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// CHECK: error: 0B1 is missing in the order of {pp = 0}
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: help: every stage runs F and B (or I and W) once for every microbatch

// -----

// One stands twice.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1 0F1"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// CHECK: error: slot 4 of {pp = 0}: 0F1 runs a second time
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: note: already run in slot 1 of {pp = 0}
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-7]]:3
// CHECK: help: remove one of the two

// -----

// One does not exist.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1 0F2"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// CHECK: error: slot 4 of {pp = 0}: 0F2 does not exist: there are 2 stages and 2 microbatches, counted from 0
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3

// -----

// One belongs elsewhere.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1 1F0"
  strategy.order stages = "PP" on {pp = 1} "1B0 1F1 1B1"
}

// CHECK: error: slot 4 of {pp = 0}: 1F0 does not belong here
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: help: PP = 1 is placed on {pp = 1} for microbatch 0

// -----

// Half a backward that is not split.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0I1 0W1"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// CHECK: error: 0I1 is half a backward, but the backward of stage 0 is not split
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: help: add strategy.split_backward {PP = *}

// -----

// A whole and a half.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.split_backward {PP = *}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0I0 0I1 0W1"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// CHECK: error: slot 3 of {pp = 0}: 0I0 repeats a part of 0B0
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:3
// CHECK: note: 0B0 stands in slot 2 of {pp = 0}
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-7]]:3
// CHECK: help: write either B, or I and W

// -----

// A rank without an order.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1"
}

// CHECK: error: there is no order for {pp = 1}
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-4]]:3
// CHECK: note: which is given work here
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-7]]:3
// CHECK: help: add strategy.order stages = "PP" on {pp = 1} "..."

// -----

// No action at all.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0f1"
  strategy.order stages = "PP" on {pp = 1} "1F0"
}

// CHECK: error: '0f1' is not an action
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:49
// CHECK: help: did you mean 0F1?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0; 0F1"
  strategy.order stages = "PP" on {pp = 1} "1F0"
}

// CHECK: error: '0F0;' is not an action; expected an action such as 3F1
// CHECK-NEXT: --> {{.*}}orders.pir:[[#@LINE-5]]:45
// CHECK: help: separate slots by spaces, not by ';'
