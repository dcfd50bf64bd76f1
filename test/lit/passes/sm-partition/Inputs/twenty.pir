strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.sm_partition arch = "sm_90" comm = 20 streams = ["comm"]
}
