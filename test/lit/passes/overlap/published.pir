// Two layers of attention and experts: the forward of one microbatch beside the backward of another, issued in the published order.
// RUN: piper-opt %s --pass-pipeline='builtin.module(overlap{axis=ep},lower-to-device)' | FileCheck %s

strategy.mesh @cluster <["ep" = 2]>
func.func private @model()
func.func private @attn(tensor<2x4xf32>) -> tensor<2x4xf32>
func.func private @mlp(tensor<4x2xf32>) -> tensor<4x2xf32>
func.func private @attn_w(tensor<2x4xf32>) -> tensor<4xf32>
func.func private @mlp_w(tensor<4x2xf32>) -> tensor<4xf32>
dag.graph @step of @model on @cluster microbatches 2 {
  %x = dag.input "x" : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb", "ep"}, {}]>
  %attn_fwd0 = dag.compute @attn(%x) F {MB = 1} node "attn_fwd0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb", "ep"}, {}]>
  %dispatch_fwd0 = dag.all_to_all %attn_fwd0 over ["ep"] from 0 to 1 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb"}, {"ep"}]>
  %mlp_fwd0 = dag.compute @mlp(%dispatch_fwd0) F {MB = 1} node "mlp_fwd0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb"}, {"ep"}]>
  %combine_fwd0 = dag.all_to_all %mlp_fwd0 over ["ep"] from 1 to 0 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb", "ep"}, {}]>
  %attn_fwd1 = dag.compute @attn(%combine_fwd0) F {MB = 1} node "attn_fwd1" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb", "ep"}, {}]>
  %dispatch_fwd1 = dag.all_to_all %attn_fwd1 over ["ep"] from 0 to 1 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb"}, {"ep"}]>
  %mlp_fwd1 = dag.compute @mlp(%dispatch_fwd1) F {MB = 1} node "mlp_fwd1" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb"}, {"ep"}]>
  %combine_fwd1 = dag.all_to_all %mlp_fwd1 over ["ep"] from 1 to 0 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb", "ep"}, {}]>
  %y = dag.input "y" : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "ep"}, {}]>
  %dy = dag.compute @attn(%y) B {MB = 0} node "head" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "ep"}, {}]>
  %combine_bwd1 = dag.all_to_all %dy over ["ep"] from 0 to 1 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb"}, {"ep"}]>
  %mlp_bwd1 = dag.compute @mlp(%combine_bwd1) BI {MB = 0} node "mlp_bwd1" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb"}, {"ep"}]>
  %mlp_dw1 = dag.compute @mlp_w(%mlp_bwd1) BW {MB = 0} node "mlp_dw1" -> !dag.dist<tensor<4xf32>, @cluster on {mb = 0}, partial = {"ep", mb[0:1]}>
  %dispatch_bwd1 = dag.all_to_all %mlp_bwd1 over ["ep"] from 1 to 0 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "ep"}, {}]>
  %attn_bwd1 = dag.compute @attn(%dispatch_bwd1) BI {MB = 0} node "attn_bwd1" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "ep"}, {}]>
  %attn_dw1 = dag.compute @attn_w(%attn_bwd1) BW {MB = 0} node "attn_dw1" -> !dag.dist<tensor<4xf32>, @cluster on {mb = 0}, partial = {"ep", mb[0:1]}>
  %combine_bwd0 = dag.all_to_all %attn_bwd1 over ["ep"] from 0 to 1 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb"}, {"ep"}]>
  %mlp_bwd0 = dag.compute @mlp(%combine_bwd0) BI {MB = 0} node "mlp_bwd0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb"}, {"ep"}]>
  %mlp_dw0 = dag.compute @mlp_w(%mlp_bwd0) BW {MB = 0} node "mlp_dw0" -> !dag.dist<tensor<4xf32>, @cluster on {mb = 0}, partial = {"ep", mb[0:1]}>
  %dispatch_bwd0 = dag.all_to_all %mlp_bwd0 over ["ep"] from 1 to 0 -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "ep"}, {}]>
  %attn_bwd0 = dag.compute @attn(%dispatch_bwd0) BI {MB = 0} node "attn_bwd0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb", "ep"}, {}]>
  %attn_dw0 = dag.compute @attn_w(%attn_bwd0) BW {MB = 0} node "attn_dw0" -> !dag.dist<tensor<4xf32>, @cluster on {mb = 0}, partial = {"ep", mb[0:1]}>
  dag.order on {} [[@head], [@attn_fwd0, @mlp_fwd0, @attn_fwd1, @mlp_fwd1, @mlp_bwd1, @attn_bwd1, @mlp_bwd0, @attn_bwd0, @mlp_dw1, @attn_dw1, @mlp_dw0, @attn_dw0]]
}

// CHECK: device.program
// CHECK: name "head"
// CHECK: name "combine_bwd1"
// CHECK: name "attn_fwd0"
// CHECK: name "mlp_bwd1"
// CHECK: name "dispatch_fwd0"
// CHECK: name "mlp_dw1"
// CHECK: name "dispatch_bwd1"
// CHECK: name "mlp_fwd0"
// CHECK: name "combine_fwd0"
// CHECK: name "attn_bwd1"
// CHECK: name "attn_dw1"
// CHECK: name "combine_bwd0"
// CHECK: name "attn_fwd1"
// CHECK: name "mlp_bwd0"
// CHECK: name "dispatch_fwd1"
// CHECK: name "mlp_dw0"
// CHECK: name "dispatch_bwd0"
// CHECK: name "mlp_fwd1"
// CHECK: name "combine_fwd1"
// CHECK: name "attn_bwd0"
// CHECK: name "attn_dw0"
