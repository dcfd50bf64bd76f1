// The table of kernels: launches, operations, bytes, intensity.
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize,print-kernels)' %s 2>&1 | FileCheck %s

// CHECK: kernel{{ +}}launches{{ +}}flops{{ +}}bytes{{ +}}flops/byte{{ +}}fused
// CHECK-NEXT: gemm0{{ +}}2{{ +}}1088{{ +}}512{{ +}}2.12{{ +}}linear gelu
// CHECK-NEXT: total{{ +}}2{{ +}}2176{{ +}}1024{{ +}}2.12
// CHECK-NEXT: elementwise{{ +}}0{{ +}}0{{ +}}0{{ +}}-
// The weight.
// CHECK-NEXT: read again{{ +}}-{{ +}}-{{ +}}256{{ +}}-
func.func @twice(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %h = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = nn.gelu %h : tensor<4x8xf32>
  %k = nn.linear %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = nn.gelu %k : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// On a file of the strategy level: the kernels of its chunks.
// RUN: piper-opt --pass print-kernels %examples/gpt.pir 2>&1 | FileCheck %s --check-prefix=GPT
// GPT: kernel{{ +}}launches{{ +}}flops
// GPT-DAG: attention0{{ .*}}attention
// GPT-DAG: gemm{{[0-9]+ .*}}linear gelu
// GPT: total
// GPT-NEXT: elementwise{{ +}}13{{ }}
