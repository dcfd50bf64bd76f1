// Programs beside the graph they were made from: whatever an instruction says has to be what its node says.
// RUN: piper-opt --pass-pipeline='builtin.module(verify-device)' --verify-diagnostics --split-input-file %s

// As it should be.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %x1 = device.buffer "x1" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    %l1 = device.buffer "l1" : memref<1xf32>
    device.load_input "x" rows 2 from 0 strides {dp = 4} to %x0 on "compute" name "x0" {origin = 0}
    device.launch @l reads(%x0) writes(%l0) on "compute" name "l.0" {origin = 2}
    device.store_output %l0 to "loss" part 0 strides {dp = 2} on "compute" name "l0" {origin = 4}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x1 on "compute" name "x1" {origin = 1}
    device.launch @m reads(%x1) writes(%l1) on "compute" name "l.1" {origin = 3}
    device.store_output %l1 to "loss" part 1 strides {dp = 2} on "compute" name "l1" {origin = 4}
  }
}

// -----

// Rows of the other microbatch.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  // expected-note@+1 {{it was made from this 'dag.input'}}
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %x1 = device.buffer "x1" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    %l1 = device.buffer "l1" : memref<1xf32>
    // expected-error@+1 {{in '@all' 'device.load_input' x0 loads other rows than the graph's input has here}}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x0 on "compute" name "x0" {origin = 0}
    device.launch @l reads(%x0) writes(%l0) on "compute" name "l.0" {origin = 2}
    device.store_output %l0 to "loss" part 0 strides {dp = 2} on "compute" name "l0" {origin = 4}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x1 on "compute" name "x1" {origin = 1}
    device.launch @m reads(%x1) writes(%l1) on "compute" name "l.1" {origin = 3}
    device.store_output %l1 to "loss" part 1 strides {dp = 2} on "compute" name "l1" {origin = 4}
  }
}

// -----

// Another replica's rows.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  // expected-note@+1 {{it was made from this 'dag.input'}}
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %x1 = device.buffer "x1" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    %l1 = device.buffer "l1" : memref<1xf32>
    // expected-error@+1 {{in '@all' 'device.load_input' x0 loads other rows than the graph's input has here}}
    device.load_input "x" rows 2 from 0 strides {dp = 2} to %x0 on "compute" name "x0" {origin = 0}
    device.launch @l reads(%x0) writes(%l0) on "compute" name "l.0" {origin = 2}
    device.store_output %l0 to "loss" part 0 strides {dp = 2} on "compute" name "l0" {origin = 4}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x1 on "compute" name "x1" {origin = 1}
    device.launch @m reads(%x1) writes(%l1) on "compute" name "l.1" {origin = 3}
    device.store_output %l1 to "loss" part 1 strides {dp = 2} on "compute" name "l1" {origin = 4}
  }
}

// -----

// The body of another node.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  // expected-note@+1 {{it was made from this 'dag.compute'}}
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %x1 = device.buffer "x1" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    %l1 = device.buffer "l1" : memref<1xf32>
    device.load_input "x" rows 2 from 0 strides {dp = 4} to %x0 on "compute" name "x0" {origin = 0}
    // expected-error@+1 {{in '@all' 'device.launch' l.0 calls the body of another node}}
    device.launch @m reads(%x0) writes(%l0) on "compute" name "l.0" {origin = 2}
    device.store_output %l0 to "loss" part 0 strides {dp = 2} on "compute" name "l0" {origin = 4}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x1 on "compute" name "x1" {origin = 1}
    device.launch @m reads(%x1) writes(%l1) on "compute" name "l.1" {origin = 3}
    device.store_output %l1 to "loss" part 1 strides {dp = 2} on "compute" name "l1" {origin = 4}
  }
}

// -----

// Values of each other's microbatch.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %x1 = device.buffer "x1" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    %l1 = device.buffer "l1" : memref<1xf32>
    device.load_input "x" rows 2 from 0 strides {dp = 4} to %x0 on "compute" name "x0" {origin = 0}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x1 on "compute" name "x1" {origin = 1}
    // expected-error@+1 {{in '@all' 'device.launch' l.0 finds another value in "x1" than the graph says}}
    device.launch @l reads(%x1) writes(%l0) on "compute" name "l.0" {origin = 2}
    device.store_output %l0 to "loss" part 0 strides {dp = 2} on "compute" name "l0" {origin = 4}
    // expected-error@+1 {{in '@all' 'device.launch' l.1 finds another value in "x0" than the graph says}}
    device.launch @m reads(%x0) writes(%l1) on "compute" name "l.1" {origin = 3}
    device.store_output %l1 to "loss" part 1 strides {dp = 2} on "compute" name "l1" {origin = 4}
  }
}

// -----

// A part in another place.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %x1 = device.buffer "x1" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    %l1 = device.buffer "l1" : memref<1xf32>
    device.load_input "x" rows 2 from 0 strides {dp = 4} to %x0 on "compute" name "x0" {origin = 0}
    device.launch @l reads(%x0) writes(%l0) on "compute" name "l.0" {origin = 2}
    // expected-error@+1 {{in '@all' 'device.store_output' l0 finds another value in "l0" than the graph says}}
    device.store_output %l0 to "loss" part 1 strides {dp = 2} on "compute" name "l0" {origin = 4}
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x1 on "compute" name "x1" {origin = 1}
    device.launch @m reads(%x1) writes(%l1) on "compute" name "l.1" {origin = 3}
    device.store_output %l1 to "loss" part 1 strides {dp = 2} on "compute" name "l1" {origin = 4}
  }
}

// -----

// A node that was lost.
strategy.mesh @c <["dp" = 2]>
func.func private @l(tensor<2x4xf32>) -> tensor<f32>
func.func private @m(tensor<2x4xf32>) -> tensor<f32>
dag.graph @step of @loss on @c microbatches 2 {
  %x0 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 0}, [{"dp", "mb"}, {}]>
  %x1 = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1}, [{"dp", "mb"}, {}]>
  %l0 = dag.compute @l(%x0) F {MB = 0, PP = 0} node "l.0" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>
  // expected-error@+1 {{'l.1' is 0 instruction(s) of '@all', but should be 1}}
  %l1 = dag.compute @m(%x1) F {MB = 1, PP = 0} node "l.1" -> !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
  // expected-error@+1 {{'dag.output' is 1 instruction(s) of '@all', but should be 2}}
  dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @c, partial = {"dp", mb[0:1]}>, !dag.dist<tensor<f32>, @c, partial = {"dp", mb[1:2]}>
}
device.plan "step" of @step on @c {
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.program @all for {} streams ["compute"] {
    %x0 = device.buffer "x0" : memref<8xf32>
    %l0 = device.buffer "l0" : memref<1xf32>
    device.load_input "x" rows 2 from 0 strides {dp = 4} to %x0 on "compute" name "x0" {origin = 0}
    device.launch @l reads(%x0) writes(%l0) on "compute" name "l.0" {origin = 2}
    device.store_output %l0 to "loss" part 0 strides {dp = 2} on "compute" name "l0" {origin = 4}
  }
}
