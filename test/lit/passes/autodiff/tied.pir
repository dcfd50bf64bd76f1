// A tied embedding in two segments: one contribution a segment, cotangents of activations BI, of weights BW.
// RUN: piper-opt --pass-pipeline='builtin.module(autodiff)' %s | FileCheck %s
// RUN: piper-opt --pass-pipeline='builtin.module(autodiff)' %s | piper-opt | FileCheck %s

func.func @loss(%tokens: tensor<2x4xi32> {batch_dim = 0, role = "data"}, %targets: tensor<2x4xi32> {batch_dim = 0, role = "data"}) -> tensor<f32> {
  %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<16x8xf32>
  %w = nn.parameter "w" init = normal<0.0, 0.02> : tensor<8x8xf32>
  %e = nn.embedding %tokens, %wte {tags = {PP = 0}} : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %u = nn.linear %e, %w {tags = {PP = 0}} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %h = nn.add %e, %u {tags = {PP = 0}} : tensor<2x4x8xf32>
  %o = nn.attention %h, %h, %h {heads = 2, kv_heads = 2, tags = {PP = 1}} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %z = nn.linear %o, %wte {tags = {PP = 1}, transpose_w} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %l = nn.cross_entropy %z, %targets {denominator = 8, tags = {PP = 1}} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK: func.func @loss(%tokens: tensor<2x4xi32> {batch_dim = 0, role = "data"}, %targets: tensor<2x4xi32> {batch_dim = 0, role = "data"}) -> (tensor<f32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>) attributes {gradients = ["wte", "wte", "w"]} {
// CHECK-NEXT: %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<16x8xf32>
// CHECK-NEXT: %w = nn.parameter "w" init = normal<0.0, 0.02> : tensor<8x8xf32>
// CHECK-NEXT: %e = nn.embedding %tokens, %wte {pass = "F", tags = {PP = 0}} : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT: %u = nn.linear %e, %w {pass = "F", tags = {PP = 0}} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT: %h = nn.add %e, %u {pass = "F", tags = {PP = 0}} : tensor<2x4x8xf32>
// CHECK-NEXT: %o, %o_lse = nn.attention %h, %h, %h {heads = 2, kv_heads = 2, pass = "F", tags = {PP = 1}} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x2x4xf32>)
// CHECK-NEXT: %z = nn.linear %o, %wte {pass = "F", tags = {PP = 1}, transpose_w} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT: %l, %l_lse = nn.cross_entropy %z, %targets {denominator = 8, pass = "F", tags = {PP = 1}} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
// CHECK-NEXT: %d_l = nn.constant {pass = "BI", tags = {PP = 1}, value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT: %d_z = nn.cross_entropy_dx %z, %targets, %d_l, %l_lse {denominator = 8, pass = "BI", tags = {PP = 1}} : (tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<f32>, tensor<2x4xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT: %d_o = nn.linear_dx %d_z, %wte {pass = "BI", tags = {PP = 1}, transpose_w} : (tensor<2x4x16xf32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT: %d_wte = nn.linear_dw %o, %d_z {pass = "BW", tags = {PP = 1}, transpose_w} : (tensor<2x4x8xf32>, tensor<2x4x16xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: %d_h:3 = nn.attention_dx %h, %h, %h, %o, %o_lse, %d_o {heads = 2, kv_heads = 2, pass = "BI", tags = {PP = 1}} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x2x4xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
// CHECK-NEXT: %d_h_0 = nn.add %d_h#0, %d_h#1 {pass = "BI", tags = {PP = 1}} : tensor<2x4x8xf32>
// CHECK-NEXT: %d_h_1 = nn.add %d_h_0, %d_h#2 {pass = "BI", tags = {PP = 1}} : tensor<2x4x8xf32>
// CHECK-NEXT: %d_e = nn.linear_dx %d_h_1, %w {pass = "BI", tags = {PP = 0}} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT: %d_w = nn.linear_dw %e, %d_h_1 {pass = "BW", tags = {PP = 0}} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %d_e_0 = nn.add %d_h_1, %d_e {pass = "BI", tags = {PP = 0}} : tensor<2x4x8xf32>
// CHECK-NEXT: %d_wte_0 = nn.embedding_dw %tokens, %d_e_0 {pass = "BW", tags = {PP = 0}, vocab = 16} : (tensor<2x4xi32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: func.return %l, %d_wte_0, %d_wte, %d_w : tensor<f32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>
