// Distributions and operations are printed as they are written, and read back from the generic form.
// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | piper-opt | FileCheck %s
strategy.mesh @c <["pp" = 2, "dp" = 2]>
strategy.group @own on @c [{pp = 0}, {pp = 1}]
func.func private @loss()
// CHECK: dag.graph @step of @loss on @c microbatches 2 {
dag.graph @step of @loss on @c microbatches 2 {
  // CHECK: dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1, pp = 0}, [{"dp", "mb"}, {}]>
  %x = dag.input "x" : !dag.dist<tensor<8x4xf32>, @c on {mb = 1, pp = 0}, [{"dp", "mb"}, {}]>
  // CHECK: dag.input "a" : !dag.dist<tensor<4xf32>, @c on {pp = 0}, partial = {"dp", use 0/2 mb[0:2]}>
  %a = dag.input "a" : !dag.dist<tensor<4xf32>, @c on {pp = 0}, partial = {"dp", use 0/2 mb[0:2]}>
  %b = dag.input "b" : !dag.dist<tensor<4xf32>, @c on {pp = 1}, partial = {"dp", use 1/2 mb[0:2]}>
  // CHECK: dag.join %a, %b -> !dag.dist<tensor<4xf32>, @c on @own, partial = {"dp", "own"}>
  %j = dag.join %a, %b : (!dag.dist<tensor<4xf32>, @c on {pp = 0}, partial = {"dp", use 0/2 mb[0:2]}>, !dag.dist<tensor<4xf32>, @c on {pp = 1}, partial = {"dp", use 1/2 mb[0:2]}>) -> !dag.dist<tensor<4xf32>, @c on @own, partial = {"dp", "own"}>
  // CHECK: dag.reduce_scatter %{{.*}} over [@own, "dp"] -> !dag.dist<tensor<4xf32>, @c on @own, [{"own", "dp"}]>
  %s = dag.reduce_scatter %j over [@own, "dp"] : !dag.dist<tensor<4xf32>, @c on @own, partial = {"dp", "own"}> -> !dag.dist<tensor<4xf32>, @c on @own, [{"own", "dp"}]>
  // CHECK: dag.all_gather
  %w = dag.all_gather %s over [@own, "dp"] : !dag.dist<tensor<4xf32>, @c on @own, [{"own", "dp"}]> -> !dag.dist<tensor<4xf32>, @c on @own>
  // CHECK: dag.project %{{.*}} -> !dag.dist<tensor<4xf32>, @c on {pp = 1}>
  %p = dag.project %w : !dag.dist<tensor<4xf32>, @c on @own> -> !dag.dist<tensor<4xf32>, @c on {pp = 1}>
  // CHECK: dag.sum_squares -> !dag.dist<tensor<f64>, @c>
  %none = dag.sum_squares : () -> !dag.dist<tensor<f64>, @c>
}
