"builtin.module"() <{sym_name = "jit_random"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> (tensor<4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xui32>, tensor<8xui32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3][0]"}, {jax.result_info = "result[3][1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg99: tensor<2xui32>):
    %316 = "func.call"(%arg99) <{callee = @_threefry_split}> : (tensor<2xui32>) -> tensor<2x2xui32>
    %317 = "stablehlo.slice"(%316) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %318 = "stablehlo.reshape"(%317) : (tensor<1x2xui32>) -> tensor<2xui32>
    %319 = "stablehlo.slice"(%316) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %320 = "stablehlo.reshape"(%319) : (tensor<1x2xui32>) -> tensor<2xui32>
    %321 = "func.call"(%318) <{callee = @_normal}> : (tensor<2xui32>) -> tensor<4x4xf32>
    %322 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %323 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %324 = "func.call"(%320, %322, %323) <{callee = @_uniform_2}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
    %325 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %326 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %327 = "stablehlo.constant"() <{value = dense<3> : tensor<1xi64>}> : () -> tensor<1xi64>
    %328 = "stablehlo.rng"(%325, %326, %327) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
    %329 = "stablehlo.constant"() <{value = dense<0> : tensor<ui32>}> : () -> tensor<ui32>
    %330 = "stablehlo.broadcast_in_dim"(%329) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %331 = "stablehlo.reshape"(%330) : (tensor<4xui32>) -> tensor<2x2xui32>
    %332 = "stablehlo.bitcast_convert"(%331) : (tensor<2x2xui32>) -> tensor<2xui64>
    %333:2 = "stablehlo.rng_bit_generator"(%332) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %334 = "stablehlo.bitcast_convert"(%333#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %335 = "stablehlo.reshape"(%334) : (tensor<2x2xui32>) -> tensor<4xui32>
    "func.return"(%321, %324, %328, %335, %333#1) : (tensor<4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xui32>, tensor<8xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> tensor<2x2xui32>, res_attrs = [{}], sym_name = "_threefry_split", sym_visibility = "private"}> ({
  ^bb0(%arg98: tensor<2xui32>):
    %299 = "stablehlo.slice"(%arg98) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %300 = "stablehlo.reshape"(%299) : (tensor<1xui32>) -> tensor<ui32>
    %301 = "stablehlo.slice"(%arg98) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %302 = "stablehlo.reshape"(%301) : (tensor<1xui32>) -> tensor<ui32>
    %303 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xui64>
    %304 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %305 = "stablehlo.broadcast_in_dim"(%304) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<2xui64>
    %306 = "stablehlo.multiply"(%305, %303) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %307 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %308 = "stablehlo.broadcast_in_dim"(%307) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<2xui64>
    %309 = "stablehlo.shift_right_logical"(%306, %308) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %310 = "stablehlo.convert"(%306) : (tensor<2xui64>) -> tensor<2xui32>
    %311 = "stablehlo.convert"(%309) : (tensor<2xui64>) -> tensor<2xui32>
    %312:2 = "func.call"(%300, %302, %311, %310) <{callee = @threefry2x32}> : (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>)
    %313 = "stablehlo.broadcast_in_dim"(%312#0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xui32>) -> tensor<2x1xui32>
    %314 = "stablehlo.broadcast_in_dim"(%312#1) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xui32>) -> tensor<2x1xui32>
    %315 = "stablehlo.concatenate"(%313, %314) <{dimension = 1 : i64}> : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x2xui32>
    "func.return"(%315) : (tensor<2x2xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>), sym_name = "threefry2x32", sym_visibility = "private"}> ({
  ^bb0(%arg76: tensor<ui32>, %arg77: tensor<ui32>, %arg78: tensor<2xui32>, %arg79: tensor<2xui32>):
    %282 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %283 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %284 = "stablehlo.xor"(%arg76, %arg77) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %285 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %286 = "stablehlo.xor"(%284, %285) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %287 = "stablehlo.broadcast_in_dim"(%arg76) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %288 = "stablehlo.add"(%arg78, %287) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %289 = "stablehlo.broadcast_in_dim"(%arg77) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %290 = "stablehlo.add"(%arg79, %289) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %291 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %292 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %293:9 = "stablehlo.while"(%292, %291, %288, %290, %arg77, %286, %arg76, %282, %283) ({
    ^bb0(%arg89: tensor<i32>, %arg90: tensor<i32>, %arg91: tensor<2xui32>, %arg92: tensor<2xui32>, %arg93: tensor<ui32>, %arg94: tensor<ui32>, %arg95: tensor<ui32>, %arg96: tensor<4xui32>, %arg97: tensor<4xui32>):
      %297 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %298 = "stablehlo.compare"(%arg89, %297) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%298) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg80: tensor<i32>, %arg81: tensor<i32>, %arg82: tensor<2xui32>, %arg83: tensor<2xui32>, %arg84: tensor<ui32>, %arg85: tensor<ui32>, %arg86: tensor<ui32>, %arg87: tensor<4xui32>, %arg88: tensor<4xui32>):
      %294:8 = "func.call"(%arg81, %arg82, %arg83, %arg84, %arg85, %arg86, %arg87, %arg88) <{callee = @closed_call}> : (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %295 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %296 = "stablehlo.add"(%arg80, %295) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%296, %294#0, %294#1, %294#2, %294#3, %294#4, %294#5, %294#6, %294#7) : (tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%293#2, %293#3) : (tensor<2xui32>, tensor<2xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg68: tensor<i32>, %arg69: tensor<2xui32>, %arg70: tensor<2xui32>, %arg71: tensor<ui32>, %arg72: tensor<ui32>, %arg73: tensor<ui32>, %arg74: tensor<4xui32>, %arg75: tensor<4xui32>):
    %227 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %228 = "stablehlo.add"(%arg68, %227) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %229 = "stablehlo.slice"(%arg74) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %230 = "stablehlo.reshape"(%229) : (tensor<1xui32>) -> tensor<ui32>
    %231 = "stablehlo.add"(%arg69, %arg70) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %232 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %233 = "stablehlo.shift_left"(%arg70, %232) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %234 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %235 = "stablehlo.subtract"(%234, %230) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %236 = "stablehlo.broadcast_in_dim"(%235) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %237 = "stablehlo.shift_right_logical"(%arg70, %236) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %238 = "stablehlo.or"(%233, %237) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %239 = "stablehlo.xor"(%231, %238) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %240 = "stablehlo.slice"(%arg74) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %241 = "stablehlo.reshape"(%240) : (tensor<1xui32>) -> tensor<ui32>
    %242 = "stablehlo.add"(%231, %239) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %243 = "stablehlo.broadcast_in_dim"(%241) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %244 = "stablehlo.shift_left"(%239, %243) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %245 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %246 = "stablehlo.subtract"(%245, %241) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %247 = "stablehlo.broadcast_in_dim"(%246) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %248 = "stablehlo.shift_right_logical"(%239, %247) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %249 = "stablehlo.or"(%244, %248) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %250 = "stablehlo.xor"(%242, %249) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %251 = "stablehlo.slice"(%arg74) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %252 = "stablehlo.reshape"(%251) : (tensor<1xui32>) -> tensor<ui32>
    %253 = "stablehlo.add"(%242, %250) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %254 = "stablehlo.broadcast_in_dim"(%252) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %255 = "stablehlo.shift_left"(%250, %254) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %256 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %257 = "stablehlo.subtract"(%256, %252) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %258 = "stablehlo.broadcast_in_dim"(%257) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %259 = "stablehlo.shift_right_logical"(%250, %258) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %260 = "stablehlo.or"(%255, %259) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %261 = "stablehlo.xor"(%253, %260) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %262 = "stablehlo.slice"(%arg74) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %263 = "stablehlo.reshape"(%262) : (tensor<1xui32>) -> tensor<ui32>
    %264 = "stablehlo.add"(%253, %261) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %265 = "stablehlo.broadcast_in_dim"(%263) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %266 = "stablehlo.shift_left"(%261, %265) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %267 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %268 = "stablehlo.subtract"(%267, %263) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %269 = "stablehlo.broadcast_in_dim"(%268) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %270 = "stablehlo.shift_right_logical"(%261, %269) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %271 = "stablehlo.or"(%266, %270) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %272 = "stablehlo.xor"(%264, %271) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %273 = "stablehlo.broadcast_in_dim"(%arg71) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %274 = "stablehlo.add"(%264, %273) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %275 = "stablehlo.broadcast_in_dim"(%arg72) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %276 = "stablehlo.add"(%272, %275) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %277 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %278 = "stablehlo.add"(%arg68, %277) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %279 = "stablehlo.convert"(%278) : (tensor<i32>) -> tensor<ui32>
    %280 = "stablehlo.broadcast_in_dim"(%279) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %281 = "stablehlo.add"(%276, %280) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    "func.return"(%228, %274, %281, %arg72, %arg73, %arg71, %arg75, %arg74) : (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_normal", sym_visibility = "private"}> ({
  ^bb0(%arg67: tensor<2xui32>):
    %226 = "func.call"(%arg67) <{callee = @_normal_real}> : (tensor<2xui32>) -> tensor<4x4xf32>
    "func.return"(%226) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_normal_real", sym_visibility = "private"}> ({
  ^bb0(%arg66: tensor<2xui32>):
    %219 = "stablehlo.constant"() <{value = dense<-0.99999994> : tensor<f32>}> : () -> tensor<f32>
    %220 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %221 = "func.call"(%arg66, %219, %220) <{callee = @_uniform}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
    %222 = "chlo.erf_inv"(%221) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %223 = "stablehlo.constant"() <{value = dense<1.41421354> : tensor<f32>}> : () -> tensor<f32>
    %224 = "stablehlo.broadcast_in_dim"(%223) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %225 = "stablehlo.multiply"(%224, %222) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%225) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_uniform", sym_visibility = "private"}> ({
  ^bb0(%arg63: tensor<2xui32>, %arg64: tensor<f32>, %arg65: tensor<f32>):
    %180 = "stablehlo.broadcast_in_dim"(%arg64) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1xf32>
    %181 = "stablehlo.broadcast_in_dim"(%arg65) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1xf32>
    %182 = "stablehlo.slice"(%arg63) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %183 = "stablehlo.reshape"(%182) : (tensor<1xui32>) -> tensor<ui32>
    %184 = "stablehlo.slice"(%arg63) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %185 = "stablehlo.reshape"(%184) : (tensor<1xui32>) -> tensor<ui32>
    %186 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x4xui64>
    %187 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x4xui64>
    %188 = "stablehlo.constant"() <{value = dense<4> : tensor<ui64>}> : () -> tensor<ui64>
    %189 = "stablehlo.broadcast_in_dim"(%188) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4x4xui64>
    %190 = "stablehlo.multiply"(%189, %186) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %191 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %192 = "stablehlo.broadcast_in_dim"(%191) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4x4xui64>
    %193 = "stablehlo.multiply"(%192, %187) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %194 = "stablehlo.add"(%190, %193) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %195 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %196 = "stablehlo.broadcast_in_dim"(%195) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4x4xui64>
    %197 = "stablehlo.shift_right_logical"(%194, %196) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %198 = "stablehlo.convert"(%194) : (tensor<4x4xui64>) -> tensor<4x4xui32>
    %199 = "stablehlo.convert"(%197) : (tensor<4x4xui64>) -> tensor<4x4xui32>
    %200:2 = "func.call"(%183, %185, %199, %198) <{callee = @threefry2x32_0}> : (tensor<ui32>, tensor<ui32>, tensor<4x4xui32>, tensor<4x4xui32>) -> (tensor<4x4xui32>, tensor<4x4xui32>)
    %201 = "stablehlo.xor"(%200#0, %200#1) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %202 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %203 = "stablehlo.broadcast_in_dim"(%202) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %204 = "stablehlo.shift_right_logical"(%201, %203) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %205 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %206 = "stablehlo.broadcast_in_dim"(%205) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %207 = "stablehlo.or"(%204, %206) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %208 = "stablehlo.bitcast_convert"(%207) : (tensor<4x4xui32>) -> tensor<4x4xf32>
    %209 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %210 = "stablehlo.broadcast_in_dim"(%209) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %211 = "stablehlo.subtract"(%208, %210) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %212 = "stablehlo.subtract"(%181, %180) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    %213 = "stablehlo.broadcast_in_dim"(%212) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<4x4xf32>
    %214 = "stablehlo.multiply"(%211, %213) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %215 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<4x4xf32>
    %216 = "stablehlo.add"(%214, %215) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %217 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<4x4xf32>
    %218 = "stablehlo.maximum"(%217, %216) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%218) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<4x4xui32>, tensor<4x4xui32>) -> (tensor<4x4xui32>, tensor<4x4xui32>), sym_name = "threefry2x32_0", sym_visibility = "private"}> ({
  ^bb0(%arg41: tensor<ui32>, %arg42: tensor<ui32>, %arg43: tensor<4x4xui32>, %arg44: tensor<4x4xui32>):
    %163 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %164 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %165 = "stablehlo.xor"(%arg41, %arg42) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %166 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %167 = "stablehlo.xor"(%165, %166) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %168 = "stablehlo.broadcast_in_dim"(%arg41) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %169 = "stablehlo.add"(%arg43, %168) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %170 = "stablehlo.broadcast_in_dim"(%arg42) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %171 = "stablehlo.add"(%arg44, %170) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %172 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %173 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %174:9 = "stablehlo.while"(%173, %172, %169, %171, %arg42, %167, %arg41, %163, %164) ({
    ^bb0(%arg54: tensor<i32>, %arg55: tensor<i32>, %arg56: tensor<4x4xui32>, %arg57: tensor<4x4xui32>, %arg58: tensor<ui32>, %arg59: tensor<ui32>, %arg60: tensor<ui32>, %arg61: tensor<4xui32>, %arg62: tensor<4xui32>):
      %178 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %179 = "stablehlo.compare"(%arg54, %178) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%179) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg45: tensor<i32>, %arg46: tensor<i32>, %arg47: tensor<4x4xui32>, %arg48: tensor<4x4xui32>, %arg49: tensor<ui32>, %arg50: tensor<ui32>, %arg51: tensor<ui32>, %arg52: tensor<4xui32>, %arg53: tensor<4xui32>):
      %175:8 = "func.call"(%arg46, %arg47, %arg48, %arg49, %arg50, %arg51, %arg52, %arg53) <{callee = @closed_call_1}> : (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %176 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %177 = "stablehlo.add"(%arg45, %176) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%177, %175#0, %175#1, %175#2, %175#3, %175#4, %175#5, %175#6, %175#7) : (tensor<i32>, tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%174#2, %174#3) : (tensor<4x4xui32>, tensor<4x4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call_1", sym_visibility = "private"}> ({
  ^bb0(%arg33: tensor<i32>, %arg34: tensor<4x4xui32>, %arg35: tensor<4x4xui32>, %arg36: tensor<ui32>, %arg37: tensor<ui32>, %arg38: tensor<ui32>, %arg39: tensor<4xui32>, %arg40: tensor<4xui32>):
    %108 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %109 = "stablehlo.add"(%arg33, %108) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %110 = "stablehlo.slice"(%arg39) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %111 = "stablehlo.reshape"(%110) : (tensor<1xui32>) -> tensor<ui32>
    %112 = "stablehlo.add"(%arg34, %arg35) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %113 = "stablehlo.broadcast_in_dim"(%111) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %114 = "stablehlo.shift_left"(%arg35, %113) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %115 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %116 = "stablehlo.subtract"(%115, %111) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %117 = "stablehlo.broadcast_in_dim"(%116) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %118 = "stablehlo.shift_right_logical"(%arg35, %117) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %119 = "stablehlo.or"(%114, %118) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %120 = "stablehlo.xor"(%112, %119) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %121 = "stablehlo.slice"(%arg39) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %122 = "stablehlo.reshape"(%121) : (tensor<1xui32>) -> tensor<ui32>
    %123 = "stablehlo.add"(%112, %120) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %124 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %125 = "stablehlo.shift_left"(%120, %124) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %126 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %127 = "stablehlo.subtract"(%126, %122) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %128 = "stablehlo.broadcast_in_dim"(%127) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %129 = "stablehlo.shift_right_logical"(%120, %128) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %130 = "stablehlo.or"(%125, %129) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %131 = "stablehlo.xor"(%123, %130) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %132 = "stablehlo.slice"(%arg39) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %133 = "stablehlo.reshape"(%132) : (tensor<1xui32>) -> tensor<ui32>
    %134 = "stablehlo.add"(%123, %131) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %135 = "stablehlo.broadcast_in_dim"(%133) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %136 = "stablehlo.shift_left"(%131, %135) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %137 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %138 = "stablehlo.subtract"(%137, %133) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %139 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %140 = "stablehlo.shift_right_logical"(%131, %139) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %141 = "stablehlo.or"(%136, %140) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %142 = "stablehlo.xor"(%134, %141) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %143 = "stablehlo.slice"(%arg39) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %144 = "stablehlo.reshape"(%143) : (tensor<1xui32>) -> tensor<ui32>
    %145 = "stablehlo.add"(%134, %142) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %146 = "stablehlo.broadcast_in_dim"(%144) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %147 = "stablehlo.shift_left"(%142, %146) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %148 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %149 = "stablehlo.subtract"(%148, %144) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %150 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %151 = "stablehlo.shift_right_logical"(%142, %150) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %152 = "stablehlo.or"(%147, %151) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %153 = "stablehlo.xor"(%145, %152) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %154 = "stablehlo.broadcast_in_dim"(%arg36) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %155 = "stablehlo.add"(%145, %154) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %156 = "stablehlo.broadcast_in_dim"(%arg37) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %157 = "stablehlo.add"(%153, %156) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %158 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %159 = "stablehlo.add"(%arg33, %158) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %160 = "stablehlo.convert"(%159) : (tensor<i32>) -> tensor<ui32>
    %161 = "stablehlo.broadcast_in_dim"(%160) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %162 = "stablehlo.add"(%157, %161) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    "func.return"(%109, %155, %162, %arg37, %arg38, %arg36, %arg40, %arg39) : (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>, res_attrs = [{}], sym_name = "_uniform_2", sym_visibility = "private"}> ({
  ^bb0(%arg30: tensor<2xui32>, %arg31: tensor<f32>, %arg32: tensor<f32>):
    %72 = "stablehlo.convert"(%arg31) : (tensor<f32>) -> tensor<f32>
    %73 = "stablehlo.convert"(%arg32) : (tensor<f32>) -> tensor<f32>
    %74 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %75 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %76 = "stablehlo.slice"(%arg30) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %77 = "stablehlo.reshape"(%76) : (tensor<1xui32>) -> tensor<ui32>
    %78 = "stablehlo.slice"(%arg30) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %79 = "stablehlo.reshape"(%78) : (tensor<1xui32>) -> tensor<ui32>
    %80 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3xui64>
    %81 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %82 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3xui64>
    %83 = "stablehlo.multiply"(%82, %80) : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
    %84 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3xui64>
    %86 = "stablehlo.shift_right_logical"(%83, %85) : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
    %87 = "stablehlo.convert"(%83) : (tensor<3xui64>) -> tensor<3xui32>
    %88 = "stablehlo.convert"(%86) : (tensor<3xui64>) -> tensor<3xui32>
    %89:2 = "func.call"(%77, %79, %88, %87) <{callee = @threefry2x32_3}> : (tensor<ui32>, tensor<ui32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>)
    %90 = "stablehlo.xor"(%89#0, %89#1) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %91 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %92 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %93 = "stablehlo.shift_right_logical"(%90, %92) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %94 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %96 = "stablehlo.or"(%93, %95) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %97 = "stablehlo.bitcast_convert"(%96) : (tensor<3xui32>) -> tensor<3xf32>
    %98 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %99 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %100 = "stablehlo.subtract"(%97, %99) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %101 = "stablehlo.subtract"(%75, %74) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %102 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<3xf32>
    %103 = "stablehlo.multiply"(%100, %102) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %104 = "stablehlo.broadcast_in_dim"(%74) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<3xf32>
    %105 = "stablehlo.add"(%103, %104) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %106 = "stablehlo.broadcast_in_dim"(%74) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<3xf32>
    %107 = "stablehlo.maximum"(%106, %105) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%107) : (tensor<3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>), sym_name = "threefry2x32_3", sym_visibility = "private"}> ({
  ^bb0(%arg8: tensor<ui32>, %arg9: tensor<ui32>, %arg10: tensor<3xui32>, %arg11: tensor<3xui32>):
    %55 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %56 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %57 = "stablehlo.xor"(%arg8, %arg9) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %58 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %59 = "stablehlo.xor"(%57, %58) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %60 = "stablehlo.broadcast_in_dim"(%arg8) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %61 = "stablehlo.add"(%arg10, %60) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %62 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %63 = "stablehlo.add"(%arg11, %62) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %64 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %65 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %66:9 = "stablehlo.while"(%65, %64, %61, %63, %arg9, %59, %arg8, %55, %56) ({
    ^bb0(%arg21: tensor<i32>, %arg22: tensor<i32>, %arg23: tensor<3xui32>, %arg24: tensor<3xui32>, %arg25: tensor<ui32>, %arg26: tensor<ui32>, %arg27: tensor<ui32>, %arg28: tensor<4xui32>, %arg29: tensor<4xui32>):
      %70 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %71 = "stablehlo.compare"(%arg21, %70) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%71) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg12: tensor<i32>, %arg13: tensor<i32>, %arg14: tensor<3xui32>, %arg15: tensor<3xui32>, %arg16: tensor<ui32>, %arg17: tensor<ui32>, %arg18: tensor<ui32>, %arg19: tensor<4xui32>, %arg20: tensor<4xui32>):
      %67:8 = "func.call"(%arg13, %arg14, %arg15, %arg16, %arg17, %arg18, %arg19, %arg20) <{callee = @closed_call_4}> : (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %68 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %69 = "stablehlo.add"(%arg12, %68) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%69, %67#0, %67#1, %67#2, %67#3, %67#4, %67#5, %67#6, %67#7) : (tensor<i32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%66#2, %66#3) : (tensor<3xui32>, tensor<3xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call_4", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<3xui32>, %arg2: tensor<3xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.add"(%arg0, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %3 = "stablehlo.reshape"(%2) : (tensor<1xui32>) -> tensor<ui32>
    %4 = "stablehlo.add"(%arg1, %arg2) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %5 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %6 = "stablehlo.shift_left"(%arg2, %5) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %7 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %8 = "stablehlo.subtract"(%7, %3) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %10 = "stablehlo.shift_right_logical"(%arg2, %9) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %11 = "stablehlo.or"(%6, %10) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %12 = "stablehlo.xor"(%4, %11) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %13 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %14 = "stablehlo.reshape"(%13) : (tensor<1xui32>) -> tensor<ui32>
    %15 = "stablehlo.add"(%4, %12) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %16 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %17 = "stablehlo.shift_left"(%12, %16) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %18 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %19 = "stablehlo.subtract"(%18, %14) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %21 = "stablehlo.shift_right_logical"(%12, %20) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %22 = "stablehlo.or"(%17, %21) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %23 = "stablehlo.xor"(%15, %22) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %24 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %25 = "stablehlo.reshape"(%24) : (tensor<1xui32>) -> tensor<ui32>
    %26 = "stablehlo.add"(%15, %23) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %27 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %28 = "stablehlo.shift_left"(%23, %27) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %29 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %30 = "stablehlo.subtract"(%29, %25) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %32 = "stablehlo.shift_right_logical"(%23, %31) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %33 = "stablehlo.or"(%28, %32) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %34 = "stablehlo.xor"(%26, %33) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %35 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %36 = "stablehlo.reshape"(%35) : (tensor<1xui32>) -> tensor<ui32>
    %37 = "stablehlo.add"(%26, %34) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %38 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %39 = "stablehlo.shift_left"(%34, %38) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %40 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %41 = "stablehlo.subtract"(%40, %36) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %43 = "stablehlo.shift_right_logical"(%34, %42) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %44 = "stablehlo.or"(%39, %43) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %45 = "stablehlo.xor"(%37, %44) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %46 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %47 = "stablehlo.add"(%37, %46) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %48 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %49 = "stablehlo.add"(%45, %48) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %50 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %51 = "stablehlo.add"(%arg0, %50) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %52 = "stablehlo.convert"(%51) : (tensor<i32>) -> tensor<ui32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %54 = "stablehlo.add"(%49, %53) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    "func.return"(%1, %47, %54, %arg4, %arg5, %arg3, %arg7, %arg6) : (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

