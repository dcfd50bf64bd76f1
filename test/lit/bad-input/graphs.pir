// Values of the graph: where they live, and whether they are whole.
// RUN: not piper-opt --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// Used on a slice where it does not live.
strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %x = dag.input "x" : !dag.dist<tensor<4xf32>, @c on {pp = 1}>
  %y = dag.compute @loss(%x) F {PP = 0} node "f" : (!dag.dist<tensor<4xf32>, @c on {pp = 1}>) -> !dag.dist<tensor<4xf32>, @c on {pp = 0}>
}

// CHECK: error: 'dag.compute' runs on {pp = 0}, but uses a value that lives on {pp = 1}
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-4]]:8
// CHECK: note: the value is defined here
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-7]]:8
// CHECK: help: crossing slices takes a dag.transfer (or, to and from a group, dag.join and dag.project)

// -----

// A gradient without a microbatch.
strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %g = dag.input "g" : !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>
  %d = dag.gradient "w" %g : !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}> -> !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>
}

// CHECK: error: 'dag.gradient' takes a complete gradient, but the contributions of microbatches 1..2 is missing
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-4]]:8
// CHECK: note: the value is made here
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-7]]:8
// CHECK: help: dag.add unites contributions of microbatches; dag.all_reduce and dag.reduce_scatter sum over axes

// -----

// A gradient that is not summed over the replicas.
strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %g = dag.input "g" : !dag.dist<tensor<4xf32>, @c, partial = {"dp"}>
  %d = dag.gradient "w" %g : !dag.dist<tensor<4xf32>, @c, partial = {"dp"}> -> !dag.dist<tensor<4xf32>, @c, partial = {"dp"}>
}

// CHECK: error: 'dag.gradient' takes a complete gradient, but the sum over "dp" is missing
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-4]]:8
// CHECK: note: the value is made here
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-7]]:8
// CHECK: help: dag.add unites contributions of microbatches; dag.all_reduce and dag.reduce_scatter sum over axes

// -----

// An optimizer that is fed one.
strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4xf32>, @c>
  %g = dag.input "g" : !dag.dist<tensor<4xf32>, @c, partial = {"dp"}>
  %n = dag.update sgd (%w, %g) lr = 0.1 : (!dag.dist<tensor<4xf32>, @c>, !dag.dist<tensor<4xf32>, @c, partial = {"dp"}>) -> !dag.dist<tensor<4xf32>, @c>
}

// CHECK: error: expected an attribute, found ':'
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-4]]:41
// CHECK: help: the form is: dag.update sgd|adamw (%inputs...) lr = <lr> {<hyper>} [clipped] -> <types>

// -----

// Counted twice.
strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %g = dag.input "g" : !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>
  %s = dag.add %g, %g : (!dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>, !dag.dist<tensor<4xf32>, @c, partial = {mb[0:1]}>) -> !dag.dist<tensor<4xf32>, @c>
}

// CHECK: error: 'dag.add': the contribution of microbatch 0 would be counted twice
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-4]]:8
// CHECK: help: each contribution goes into the sum once

// -----

// Reduced twice.
strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @loss()
dag.graph @step of @loss on @c microbatches 2 {
  %g = dag.input "g" : !dag.dist<tensor<4xf32>, @c>
  %s = dag.all_reduce %g over ["dp"] : !dag.dist<tensor<4xf32>, @c> -> !dag.dist<tensor<4xf32>, @c>
}

// CHECK: error: 'dag.all_reduce' sums over 'dp', but the value is not a partial sum over it: it would be multiplied
// CHECK-NEXT: --> {{.*}}graphs.pir:[[#@LINE-4]]:8
// CHECK: help: the value is whole along this axis already; leave the reduction out
