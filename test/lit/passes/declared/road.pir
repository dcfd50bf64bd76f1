// From declarations to verified device programs: each call is a kernel of its own with the cost of its share (an eighth: four
// microbatches, two replicas), equal ones once.
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,replicate,update,verify-dag,lower-to-device,kernelize,memory-plan,verify-device)' %examples/declared.pir | FileCheck %s
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,expand-directives,build-dag,split-backward,split,place,order,replicate,update,verify-dag,lower-to-device,kernelize,memory-plan,verify-device)' %examples/declared.pir | piper-opt | FileCheck %s

// CHECK: func.func private @embed(tensor<16x1024xi32> {batch_dim = 0}, tensor<32000x512xbf16>)
// CHECK: kernel.func @embed_fwd({{.*}}) -> tensor<2x1024x512xbf16> attributes {bytes = 4250000, flops = 0, kind = "opaque"} {
// CHECK-NEXT: nn.opaque @embed(%tokens, %wte) : (tensor<2x1024xi32>, tensor<32000x512xbf16>) -> tensor<2x1024x512xbf16>
// What was not said to move is what a launch must at least move.
// CHECK: kernel.func @attn_fwd({{.*}}) -> tensor<2x1024x512xbf16> attributes {bytes = 6291456, flops = 6500000000, kind = "opaque"} {
// CHECK: kernel.func @mlp_fwd({{.*}}) -> (tensor<2x1024x512xbf16>, tensor<2x1024x2048xbf16>) attributes {bytes = 16777216, flops = 8625000000, kind = "opaque"} {
// CHECK-NOT: nn.opaque @attn
// CHECK: kernel.func @attn_dx
// CHECK-DAG: kernel.launch @attn_dx
// CHECK: device.plan
// CHECK: device.launch @attn_fwd
