module @jit_elementwise attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xi32>, %arg2: tensor<4x4xcomplex<f32>>, %arg3: tensor<4x4xi1>) -> (tensor<4x4xf32> {jax.result_info = "result[0]"}, tensor<4x4xf32> {jax.result_info = "result[1]"}, tensor<4x4xf32> {jax.result_info = "result[2]"}, tensor<4x4xf32> {jax.result_info = "result[3]"}, tensor<4x4xf32> {jax.result_info = "result[4]"}, tensor<4x4xf32> {jax.result_info = "result[5]"}, tensor<4x4xf32> {jax.result_info = "result[6]"}, tensor<4x4xf32> {jax.result_info = "result[7]"}, tensor<4x4xf32> {jax.result_info = "result[8]"}, tensor<4x4xf32> {jax.result_info = "result[9]"}, tensor<4x4xf32> {jax.result_info = "result[10]"}, tensor<4x4xf32> {jax.result_info = "result[11]"}, tensor<4x4xf32> {jax.result_info = "result[12]"}, tensor<4x4xf32> {jax.result_info = "result[13]"}, tensor<4x4xf32> {jax.result_info = "result[14]"}, tensor<4x4xf32> {jax.result_info = "result[15]"}, tensor<4x4xf32> {jax.result_info = "result[16]"}, tensor<4x4xi1> {jax.result_info = "result[17]"}, tensor<4x4xf32> {jax.result_info = "result[18]"}, tensor<4x4xf32> {jax.result_info = "result[19]"}, tensor<4x4xf32> {jax.result_info = "result[20]"}, tensor<4x4xf32> {jax.result_info = "result[21]"}, tensor<4x4xf32> {jax.result_info = "result[22]"}, tensor<4x4xf32> {jax.result_info = "result[23]"}, tensor<4x4xf32> {jax.result_info = "result[24]"}, tensor<4x4xf32> {jax.result_info = "result[25]"}, tensor<4x4xf32> {jax.result_info = "result[26]"}, tensor<4x4xf32> {jax.result_info = "result[27]"}, tensor<4x4xf32> {jax.result_info = "result[28]"}, tensor<4x4xf32> {jax.result_info = "result[29]"}, tensor<4x4xf32> {jax.result_info = "result[30]"}, tensor<4x4xf32> {jax.result_info = "result[31]"}, tensor<4x4xf32> {jax.result_info = "result[32]"}, tensor<4x4xf32> {jax.result_info = "result[33]"}, tensor<4x4xf32> {jax.result_info = "result[34]"}, tensor<4x4xf32> {jax.result_info = "result[35]"}, tensor<4x4xi32> {jax.result_info = "result[36]"}, tensor<4x4xi32> {jax.result_info = "result[37]"}, tensor<4x4xi32> {jax.result_info = "result[38]"}, tensor<4x4xi32> {jax.result_info = "result[39]"}, tensor<4x4xi32> {jax.result_info = "result[40]"}, tensor<4x4xi32> {jax.result_info = "result[41]"}, tensor<4x4xi32> {jax.result_info = "result[42]"}, tensor<4x4xi32> {jax.result_info = "result[43]"}, tensor<4x4xi32> {jax.result_info = "result[44]"}, tensor<4x4xi32> {jax.result_info = "result[45]"}, tensor<4x4xi32> {jax.result_info = "result[46]"}, tensor<4x4xf32> {jax.result_info = "result[47]"}, tensor<4x4xf32> {jax.result_info = "result[48]"}, tensor<4x4xcomplex<f32>> {jax.result_info = "result[49]"}, tensor<4x4xf32> {jax.result_info = "result[50]"}, tensor<4x4xcomplex<f32>> {jax.result_info = "result[51]"}, tensor<4x4xcomplex<f32>> {jax.result_info = "result[52]"}, tensor<4x4xi1> {jax.result_info = "result[53]"}, tensor<4x4xi1> {jax.result_info = "result[54]"}, tensor<4x4xi1> {jax.result_info = "result[55]"}, tensor<4x4xf32> {jax.result_info = "result[56]"}, tensor<4x4xf32> {jax.result_info = "result[57]"}, tensor<4x4xf32> {jax.result_info = "result[58]"}, tensor<4x4xi32> {jax.result_info = "result[59]"}, tensor<4x4xbf16> {jax.result_info = "result[60]"}, tensor<4x4xf8E4M3FN> {jax.result_info = "result[61]"}, tensor<4x4xf32> {jax.result_info = "result[62]"}, tensor<4x4xf32> {jax.result_info = "result[63]"}, tensor<4x4xi1> {jax.result_info = "result[64]"}, tensor<4x4xi1> {jax.result_info = "result[65]"}, tensor<4x4xi1> {jax.result_info = "result[66]"}, tensor<4x4xi1> {jax.result_info = "result[67]"}, tensor<4x4xf32> {jax.result_info = "result[68]"}, tensor<4x4xf32> {jax.result_info = "result[69]"}) {
    %0 = stablehlo.abs %arg0 : tensor<4x4xf32>
    %1 = stablehlo.ceil %arg0 : tensor<4x4xf32>
    %2 = stablehlo.floor %arg0 : tensor<4x4xf32>
    %3 = call @round(%arg0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.cosine %arg0 : tensor<4x4xf32>
    %5 = stablehlo.sine %arg0 : tensor<4x4xf32>
    %6 = stablehlo.tan %arg0 : tensor<4x4xf32>
    %7 = stablehlo.tanh %arg0 : tensor<4x4xf32>
    %8 = stablehlo.exponential %arg0 : tensor<4x4xf32>
    %9 = stablehlo.exponential_minus_one %arg0 : tensor<4x4xf32>
    %10 = stablehlo.log %arg0 : tensor<4x4xf32>
    %11 = stablehlo.log_plus_one %arg0 : tensor<4x4xf32>
    %12 = stablehlo.negate %arg0 : tensor<4x4xf32>
    %13 = stablehlo.exponential %12 : tensor<4x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %15 = stablehlo.add %14, %13 : tensor<4x4xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %17 = stablehlo.divide %16, %15 : tensor<4x4xf32>
    %18 = stablehlo.sqrt %arg0 : tensor<4x4xf32>
    %19 = stablehlo.rsqrt %arg0 : tensor<4x4xf32>
    %20 = stablehlo.cbrt %arg0 : tensor<4x4xf32>
    %21 = stablehlo.sign %arg0 : tensor<4x4xf32>
    %22 = stablehlo.is_finite %arg0 : (tensor<4x4xf32>) -> tensor<4x4xi1>
    %23 = chlo.erf %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %24 = chlo.erf_inv %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %25 = chlo.lgamma %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %26 = chlo.digamma %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %27 = chlo.asin %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %28 = call @arccosh(%arg0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %29 = chlo.sinh %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %30 = chlo.cosh %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %31 = chlo.atan %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %32 = stablehlo.multiply %arg0, %arg0 : tensor<4x4xf32>
    %33 = stablehlo.multiply %32, %arg0 : tensor<4x4xf32>
    %cst_1 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %35 = stablehlo.multiply %34, %33 : tensor<4x4xf32>
    %36 = stablehlo.add %arg0, %35 : tensor<4x4xf32>
    %cst_2 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %38 = stablehlo.multiply %37, %36 : tensor<4x4xf32>
    %39 = stablehlo.tanh %38 : tensor<4x4xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %41 = stablehlo.add %40, %39 : tensor<4x4xf32>
    %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %43 = stablehlo.multiply %42, %41 : tensor<4x4xf32>
    %44 = stablehlo.multiply %arg0, %43 : tensor<4x4xf32>
    %45 = call @silu(%arg0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %46 = chlo.square %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %47 = stablehlo.power %arg0, %arg0 : tensor<4x4xf32>
    %48 = stablehlo.atan2 %arg0, %arg0 : tensor<4x4xf32>
    %49 = stablehlo.minimum %arg0, %arg0 : tensor<4x4xf32>
    %50 = stablehlo.maximum %arg0, %arg0 : tensor<4x4xf32>
    %51 = stablehlo.remainder %arg0, %arg0 : tensor<4x4xf32>
    %52 = chlo.next_after %arg0, %arg0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %53 = stablehlo.and %arg1, %arg1 : tensor<4x4xi32>
    %54 = stablehlo.or %arg1, %arg1 : tensor<4x4xi32>
    %55 = stablehlo.xor %arg1, %arg1 : tensor<4x4xi32>
    %56 = stablehlo.not %arg1 : tensor<4x4xi32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %57 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %58 = stablehlo.shift_left %arg1, %57 : tensor<4x4xi32>
    %c_5 = stablehlo.constant dense<1> : tensor<i32>
    %59 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %60 = stablehlo.shift_right_arithmetic %arg1, %59 : tensor<4x4xi32>
    %61 = stablehlo.shift_right_logical %arg1, %arg1 : tensor<4x4xi32>
    %62 = stablehlo.popcnt %arg1 : tensor<4x4xi32>
    %63 = stablehlo.count_leading_zeros %arg1 : tensor<4x4xi32>
    %c_6 = stablehlo.constant dense<3> : tensor<i32>
    %64 = call @floor_divide(%arg1, %c_6) : (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>
    %c_7 = stablehlo.constant dense<3> : tensor<i32>
    %65 = call @remainder(%arg1, %c_7) : (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>
    %66 = stablehlo.real %arg2 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %67 = stablehlo.imag %arg2 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %68 = stablehlo.complex %arg0, %arg0 : tensor<4x4xcomplex<f32>>
    %69 = stablehlo.abs %arg2 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %70 = stablehlo.real %arg2 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %71 = stablehlo.imag %arg2 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %72 = stablehlo.negate %71 : tensor<4x4xf32>
    %73 = stablehlo.complex %70, %72 : tensor<4x4xcomplex<f32>>
    %74 = stablehlo.multiply %arg2, %arg2 : tensor<4x4xcomplex<f32>>
    %75 = stablehlo.and %arg3, %arg3 : tensor<4x4xi1>
    %76 = stablehlo.not %arg3 : tensor<4x4xi1>
    %77 = stablehlo.or %arg3, %arg3 : tensor<4x4xi1>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %78 = call @clip(%arg0, %cst_8, %cst_9) : (tensor<4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
    %79 = stablehlo.clamp %arg0, %arg0, %arg0 : tensor<4x4xf32>
    %80 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4x4xf32>
    %81 = stablehlo.bitcast_convert %arg0 : (tensor<4x4xf32>) -> tensor<4x4xi32>
    %82 = stablehlo.convert %arg0 : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %83 = stablehlo.convert %arg0 : (tensor<4x4xf32>) -> tensor<4x4xf8E4M3FN>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %84 = call @_where_1(%arg3, %arg0, %cst_10) : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %85 = stablehlo.slice %arg3 [0:1, 0:1] : (tensor<4x4xi1>) -> tensor<1x1xi1>
    %86 = stablehlo.reshape %85 : (tensor<1x1xi1>) -> tensor<i1>
    %87 = call @_where_2(%86, %arg0, %arg0) : (tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %88 = stablehlo.compare EQ, %arg0, %arg0, FLOAT : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %89 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %90 = stablehlo.compare LE, %arg1, %arg1, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %91 = stablehlo.compare EQ, %arg2, %arg2, FLOAT : (tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>) -> tensor<4x4xi1>
    %92 = stablehlo.multiply %arg0, %arg0 : tensor<4x4xf32>
    %cst_11 = stablehlo.constant dense<-1.500000e+00> : tensor<f32>
    %93 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %94 = stablehlo.power %arg0, %93 : tensor<4x4xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %58, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %87, %88, %89, %90, %91, %92, %94 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xbf16>, tensor<4x4xf8E4M3FN>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func private @round(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func private @arccosh(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = chlo.acosh %arg0 : tensor<4x4xf32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func private @silu(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.negate %arg0 : tensor<4x4xf32>
    %1 = stablehlo.exponential %0 : tensor<4x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %3 = stablehlo.add %2, %1 : tensor<4x4xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %5 = stablehlo.divide %4, %3 : tensor<4x4xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<4x4xf32>
    return %6 : tensor<4x4xf32>
  }
  func.func private @floor_divide(%arg0: tensor<4x4xi32>, %arg1: tensor<i32>) -> tensor<4x4xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %2 = stablehlo.divide %arg0, %1 : tensor<4x4xi32>
    %3 = stablehlo.sign %arg0 : tensor<4x4xi32>
    %4 = stablehlo.sign %0 : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %6 = stablehlo.compare NE, %3, %5, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %8 = stablehlo.remainder %arg0, %7 : tensor<4x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %10 = stablehlo.compare NE, %8, %9, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %11 = stablehlo.and %6, %10 : tensor<4x4xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %13 = stablehlo.subtract %2, %12 : tensor<4x4xi32>
    %14 = call @_where(%11, %13, %2) : (tensor<4x4xi1>, tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    return %14 : tensor<4x4xi32>
  }
  func.func private @_where(%arg0: tensor<4x4xi1>, %arg1: tensor<4x4xi32>, %arg2: tensor<4x4xi32>) -> tensor<4x4xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4x4xi1>, tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
  }
  func.func private @remainder(%arg0: tensor<4x4xi32>, %arg1: tensor<i32>) -> tensor<4x4xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where_0(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<4x4xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<4x4xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
    %12 = stablehlo.and %11, %6 : tensor<4x4xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %14 = stablehlo.add %4, %13 : tensor<4x4xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<4x4xi1>, tensor<4x4xi32>
    return %15 : tensor<4x4xi32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @clip(%arg0: tensor<4x4xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<4x4xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<4x4xf32>
    %3 = stablehlo.convert %arg2 : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %5 = stablehlo.minimum %4, %2 : tensor<4x4xf32>
    return %5 : tensor<4x4xf32>
  }
  func.func private @_where_1(%arg0: tensor<4x4xi1>, %arg1: tensor<4x4xf32>, %arg2: tensor<f32>) -> tensor<4x4xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<4x4xi1>, tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
  func.func private @_where_2(%arg0: tensor<i1>, %arg1: tensor<4x4xf32>, %arg2: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
