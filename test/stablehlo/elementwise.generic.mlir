"builtin.module"() <{sym_name = "jit_elementwise"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}], function_type = (tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xcomplex<f32>>, tensor<4x4xi1>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xbf16>, tensor<4x4xf8E4M3FN>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}, {jax.result_info = "result[6]"}, {jax.result_info = "result[7]"}, {jax.result_info = "result[8]"}, {jax.result_info = "result[9]"}, {jax.result_info = "result[10]"}, {jax.result_info = "result[11]"}, {jax.result_info = "result[12]"}, {jax.result_info = "result[13]"}, {jax.result_info = "result[14]"}, {jax.result_info = "result[15]"}, {jax.result_info = "result[16]"}, {jax.result_info = "result[17]"}, {jax.result_info = "result[18]"}, {jax.result_info = "result[19]"}, {jax.result_info = "result[20]"}, {jax.result_info = "result[21]"}, {jax.result_info = "result[22]"}, {jax.result_info = "result[23]"}, {jax.result_info = "result[24]"}, {jax.result_info = "result[25]"}, {jax.result_info = "result[26]"}, {jax.result_info = "result[27]"}, {jax.result_info = "result[28]"}, {jax.result_info = "result[29]"}, {jax.result_info = "result[30]"}, {jax.result_info = "result[31]"}, {jax.result_info = "result[32]"}, {jax.result_info = "result[33]"}, {jax.result_info = "result[34]"}, {jax.result_info = "result[35]"}, {jax.result_info = "result[36]"}, {jax.result_info = "result[37]"}, {jax.result_info = "result[38]"}, {jax.result_info = "result[39]"}, {jax.result_info = "result[40]"}, {jax.result_info = "result[41]"}, {jax.result_info = "result[42]"}, {jax.result_info = "result[43]"}, {jax.result_info = "result[44]"}, {jax.result_info = "result[45]"}, {jax.result_info = "result[46]"}, {jax.result_info = "result[47]"}, {jax.result_info = "result[48]"}, {jax.result_info = "result[49]"}, {jax.result_info = "result[50]"}, {jax.result_info = "result[51]"}, {jax.result_info = "result[52]"}, {jax.result_info = "result[53]"}, {jax.result_info = "result[54]"}, {jax.result_info = "result[55]"}, {jax.result_info = "result[56]"}, {jax.result_info = "result[57]"}, {jax.result_info = "result[58]"}, {jax.result_info = "result[59]"}, {jax.result_info = "result[60]"}, {jax.result_info = "result[61]"}, {jax.result_info = "result[62]"}, {jax.result_info = "result[63]"}, {jax.result_info = "result[64]"}, {jax.result_info = "result[65]"}, {jax.result_info = "result[66]"}, {jax.result_info = "result[67]"}, {jax.result_info = "result[68]"}, {jax.result_info = "result[69]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg22: tensor<4x4xf32>, %arg23: tensor<4x4xi32>, %arg24: tensor<4x4xcomplex<f32>>, %arg25: tensor<4x4xi1>):
    %61 = "stablehlo.abs"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %62 = "stablehlo.ceil"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %63 = "stablehlo.floor"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %64 = "func.call"(%arg22) <{callee = @round}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %65 = "stablehlo.cosine"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %66 = "stablehlo.sine"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %67 = "stablehlo.tan"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %68 = "stablehlo.tanh"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %69 = "stablehlo.exponential"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %70 = "stablehlo.exponential_minus_one"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %71 = "stablehlo.log"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %72 = "stablehlo.log_plus_one"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %73 = "stablehlo.negate"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %74 = "stablehlo.exponential"(%73) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %75 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %76 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %77 = "stablehlo.add"(%76, %74) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %78 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %79 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %80 = "stablehlo.divide"(%79, %77) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %81 = "stablehlo.sqrt"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %82 = "stablehlo.rsqrt"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %83 = "stablehlo.cbrt"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %84 = "stablehlo.sign"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %85 = "stablehlo.is_finite"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xi1>
    %86 = "chlo.erf"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %87 = "chlo.erf_inv"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %88 = "chlo.lgamma"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %89 = "chlo.digamma"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %90 = "chlo.asin"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %91 = "func.call"(%arg22) <{callee = @arccosh}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %92 = "chlo.sinh"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %93 = "chlo.cosh"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %94 = "chlo.atan"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %95 = "stablehlo.multiply"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %96 = "stablehlo.multiply"(%95, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %97 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %99 = "stablehlo.multiply"(%98, %96) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %100 = "stablehlo.add"(%arg22, %99) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %101 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %102 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %103 = "stablehlo.multiply"(%102, %100) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %104 = "stablehlo.tanh"(%103) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %105 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %106 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %107 = "stablehlo.add"(%106, %104) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %108 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %109 = "stablehlo.broadcast_in_dim"(%108) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %110 = "stablehlo.multiply"(%109, %107) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %111 = "stablehlo.multiply"(%arg22, %110) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %112 = "func.call"(%arg22) <{callee = @silu}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %113 = "chlo.square"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %114 = "stablehlo.power"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %115 = "stablehlo.atan2"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %116 = "stablehlo.minimum"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %117 = "stablehlo.maximum"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %118 = "stablehlo.remainder"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %119 = "chlo.next_after"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %120 = "stablehlo.and"(%arg23, %arg23) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %121 = "stablehlo.or"(%arg23, %arg23) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %122 = "stablehlo.xor"(%arg23, %arg23) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %123 = "stablehlo.not"(%arg23) : (tensor<4x4xi32>) -> tensor<4x4xi32>
    %124 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %125 = "stablehlo.broadcast_in_dim"(%124) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %126 = "stablehlo.shift_left"(%arg23, %125) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %127 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %128 = "stablehlo.broadcast_in_dim"(%127) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %129 = "stablehlo.shift_right_arithmetic"(%arg23, %128) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %130 = "stablehlo.shift_right_logical"(%arg23, %arg23) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %131 = "stablehlo.popcnt"(%arg23) : (tensor<4x4xi32>) -> tensor<4x4xi32>
    %132 = "stablehlo.count_leading_zeros"(%arg23) : (tensor<4x4xi32>) -> tensor<4x4xi32>
    %133 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %134 = "func.call"(%arg23, %133) <{callee = @floor_divide}> : (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>
    %135 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %136 = "func.call"(%arg23, %135) <{callee = @remainder}> : (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>
    %137 = "stablehlo.real"(%arg24) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %138 = "stablehlo.imag"(%arg24) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %139 = "stablehlo.complex"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xcomplex<f32>>
    %140 = "stablehlo.abs"(%arg24) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %141 = "stablehlo.real"(%arg24) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %142 = "stablehlo.imag"(%arg24) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %143 = "stablehlo.negate"(%142) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %144 = "stablehlo.complex"(%141, %143) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xcomplex<f32>>
    %145 = "stablehlo.multiply"(%arg24, %arg24) : (tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    %146 = "stablehlo.and"(%arg25, %arg25) : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
    %147 = "stablehlo.not"(%arg25) : (tensor<4x4xi1>) -> tensor<4x4xi1>
    %148 = "stablehlo.or"(%arg25, %arg25) : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
    %149 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %150 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %151 = "func.call"(%arg22, %149, %150) <{callee = @clip}> : (tensor<4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
    %152 = "stablehlo.clamp"(%arg22, %arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %153 = "stablehlo.reduce_precision"(%arg22) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %154 = "stablehlo.bitcast_convert"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xi32>
    %155 = "stablehlo.convert"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %156 = "stablehlo.convert"(%arg22) : (tensor<4x4xf32>) -> tensor<4x4xf8E4M3FN>
    %157 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %158 = "func.call"(%arg25, %arg22, %157) <{callee = @_where_1}> : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %159 = "stablehlo.slice"(%arg25) <{limit_indices = array<i64: 1, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x4xi1>) -> tensor<1x1xi1>
    %160 = "stablehlo.reshape"(%159) : (tensor<1x1xi1>) -> tensor<i1>
    %161 = "func.call"(%160, %arg22, %arg22) <{callee = @_where_2}> : (tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %162 = "stablehlo.compare"(%arg22, %arg22) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %163 = "stablehlo.compare"(%arg22, %arg22) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %164 = "stablehlo.compare"(%arg23, %arg23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %165 = "stablehlo.compare"(%arg24, %arg24) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>) -> tensor<4x4xi1>
    %166 = "stablehlo.multiply"(%arg22, %arg22) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %167 = "stablehlo.constant"() <{value = dense<-1.500000e+00> : tensor<f32>}> : () -> tensor<f32>
    %168 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %169 = "stablehlo.power"(%arg22, %168) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %126, %129, %130, %131, %132, %134, %136, %137, %138, %139, %140, %144, %145, %146, %147, %148, %151, %152, %153, %154, %155, %156, %158, %161, %162, %163, %164, %165, %166, %169) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xbf16>, tensor<4x4xf8E4M3FN>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "round", sym_visibility = "private"}> ({
  ^bb0(%arg21: tensor<4x4xf32>):
    %60 = "stablehlo.round_nearest_even"(%arg21) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%60) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "arccosh", sym_visibility = "private"}> ({
  ^bb0(%arg20: tensor<4x4xf32>):
    %59 = "chlo.acosh"(%arg20) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%59) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg19: tensor<4x4xf32>):
    %50 = "stablehlo.negate"(%arg19) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %51 = "stablehlo.exponential"(%50) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %52 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %54 = "stablehlo.add"(%53, %51) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %55 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %57 = "stablehlo.divide"(%56, %54) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %58 = "stablehlo.multiply"(%arg19, %57) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%58) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>, res_attrs = [{}], sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg17: tensor<4x4xi32>, %arg18: tensor<i32>):
    %33 = "stablehlo.convert"(%arg18) : (tensor<i32>) -> tensor<i32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %35 = "stablehlo.divide"(%arg17, %34) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %36 = "stablehlo.sign"(%arg17) : (tensor<4x4xi32>) -> tensor<4x4xi32>
    %37 = "stablehlo.sign"(%33) : (tensor<i32>) -> tensor<i32>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %39 = "stablehlo.compare"(%36, %38) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %40 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %41 = "stablehlo.remainder"(%arg17, %40) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %42 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %44 = "stablehlo.compare"(%41, %43) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %45 = "stablehlo.and"(%39, %44) : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
    %46 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %48 = "stablehlo.subtract"(%35, %47) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %49 = "func.call"(%45, %48, %35) <{callee = @_where}> : (tensor<4x4xi1>, tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    "func.return"(%49) : (tensor<4x4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x4xi1>, tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg14: tensor<4x4xi1>, %arg15: tensor<4x4xi32>, %arg16: tensor<4x4xi32>):
    %32 = "stablehlo.select"(%arg14, %arg15, %arg16) : (tensor<4x4xi1>, tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    "func.return"(%32) : (tensor<4x4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>, res_attrs = [{}], sym_name = "remainder", sym_visibility = "private"}> ({
  ^bb0(%arg12: tensor<4x4xi32>, %arg13: tensor<i32>):
    %11 = "stablehlo.convert"(%arg13) : (tensor<i32>) -> tensor<i32>
    %12 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %13 = "stablehlo.compare"(%11, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %14 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %15 = "func.call"(%13, %14, %11) <{callee = @_where_0}> : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %17 = "stablehlo.remainder"(%arg12, %16) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %18 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %20 = "stablehlo.compare"(%17, %19) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %21 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %23 = "stablehlo.compare"(%17, %22) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %24 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %25 = "stablehlo.compare"(%15, %24) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<4x4xi1>
    %27 = "stablehlo.compare"(%23, %26) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
    %28 = "stablehlo.and"(%27, %20) : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
    %29 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x4xi32>
    %30 = "stablehlo.add"(%17, %29) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %31 = "stablehlo.select"(%28, %30, %17) : (tensor<4x4xi1>, tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    "func.return"(%31) : (tensor<4x4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>, res_attrs = [{}], sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<i1>, %arg10: tensor<i32>, %arg11: tensor<i32>):
    %10 = "stablehlo.select"(%arg9, %arg10, %arg11) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%10) : (tensor<i32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<4x4xf32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
    %4 = "stablehlo.convert"(%arg7) : (tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %6 = "stablehlo.maximum"(%5, %arg6) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = "stablehlo.convert"(%arg8) : (tensor<f32>) -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %9 = "stablehlo.minimum"(%8, %6) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%9) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<4x4xi1>, %arg4: tensor<4x4xf32>, %arg5: tensor<f32>):
    %1 = "stablehlo.convert"(%arg5) : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %3 = "stablehlo.select"(%arg3, %arg4, %2) : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%3) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_where_2", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<4x4xf32>, %arg2: tensor<4x4xf32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%0) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

